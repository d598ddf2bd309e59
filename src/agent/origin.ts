// Which addresses are one place, and which we call at all. Pure.

/** `localhost` and its addresses name one machine: local agents mix them freely. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** An address that we may call: http or https, without credentials in it; else null. */
export function callable(url: string, base?: string): URL | null {
  const parsed = URL.parse(url, base);
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol) || parsed.username !== '' || parsed.password !== '') return null;
  return parsed;
}

/** Scheme, host and port are equal, where all names of this machine's loopback count as one. */
export function sameOrigin(one: URL, other: URL): boolean {
  if (one.origin === other.origin) return true;
  return one.protocol === other.protocol && one.port === other.port && loopback.has(one.hostname) && loopback.has(other.hostname);
}

/** This machine itself. */
export function isLoopback(url: URL): boolean {
  return loopback.has(url.hostname);
}
