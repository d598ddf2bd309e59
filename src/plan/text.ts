// How text is made safe and short before it goes into a prompt or a row. Pure.

/** What Postgres and JSON can hold and a terminal survives: no lone surrogates, no control characters but tab and line feed. */
export function storable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\t\n])\p{Control}/gu, '');
}

/** Text by others as a model reads it: `storable`, and nothing that only a machine sees (direction overrides, tag characters, zero width). */
export function legible(text: string): string {
  return storable(text).replace(/[\u200b\u202a-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu, '');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return legible(text).replace(/\s+/g, ' ').trim();
}

/** At most `maxBytes` of UTF-8, never cutting a character; an ellipsis (not counted) tells that something is missing. */
export function capBytes(text: string, maxBytes: number): string {
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return read < text.length ? `${text.slice(0, read)}…` : text;
}

/** At most `max` UTF-16 units, ellipsis included. */
export function capUnits(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`;
}

/** Tokens, rather too many than too few: three ASCII characters are one, any other character is one. */
export function tokensOf(text: string): number {
  const ascii = text.match(/\p{ASCII}/gu)?.length ?? 0;
  return Math.ceil(ascii / 3) + text.length - ascii;
}
