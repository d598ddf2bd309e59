// What may stay of text that strangers wrote. Pure.

import type { Json } from '../intention/message.ts';

/** JSON deeper than this is cut to null: walkers of it recurse. */
export const maxJsonDepth = 64;

/** Characters that Postgres or UTF-8 refuse: NUL goes, a lone surrogate becomes U+FFFD. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

/** UTF-16 units of an id that a stranger gave: all that we know are UUIDs or a little longer. */
const maxId = 256;

/** An id is sent back exactly or not at all: one that could not be stored as it is counts as none. */
export function usableId(id: string | undefined): string | null {
  return id !== undefined && id !== '' && id.length <= maxId && storable(id) === id ? id : null;
}

/** The first `max` UTF-16 units, without half a character at the end. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const last = text.charCodeAt(max - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}

/** One line for a prompt or a list: no control, bidirectional or invisible characters, white space as single spaces. */
export function line(text: string, max: number): string {
  const visible = text
    .toWellFormed()
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Bidi_Control}\u200b\ufeff\u{e0000}-\u{e007f}]/gu, '');
  return cut(visible.trim(), max);
}

/** Any value as JSON that can be stored; what JSON cannot say becomes null. */
export function storableJson(value: unknown, depth = 0): Json {
  if (typeof value === 'string') return storable(value);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null || depth === maxJsonDepth) return null;
  if (Array.isArray(value)) return value.map((item) => storableJson(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storable(key), storableJson(item, depth + 1)]));
}
