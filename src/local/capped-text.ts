// A response's text, as much of it as anybody wants to read. Effects: the response's body.

/** What is over the limit is not awaited. Rejects when the body breaks. */
export async function cappedText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk.subarray(0, maxBytes - bytes), { stream: true });
    bytes += chunk.length;
    // Leaving the loop cancels the body.
    if (bytes >= maxBytes) break;
  }
  return text;
}
