// A request's body as bytes, with a bound. Effects: the request's body.

import { Fault } from './fault.ts';

/** At most `maxBytes`, whatever Content-Length says. Throws Fault `body_too_large`. */
export async function bytesOf(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new Fault('body_too_large', { detail: `at most ${maxBytes} bytes` });
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
