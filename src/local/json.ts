// JSON from outside, to be read by a schema next. Pure.

/** Null also for what is no JSON: no schema of ours takes it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
