// One part of a message, from the protocol's shape into ours and back. Pure.

import * as a2a from '@a2a-js/sdk';
import { cut, storable, storableJson } from './clean.ts';
import type { RawPart } from './reply.ts';

/** What was said in one breath: the parts of an artifact or of a message. */
export interface Said {
  /** An artifact's parts may be chunks of one text; a message's parts are paragraphs. */
  readonly kind: 'artifact' | 'message';
  readonly parts: readonly a2a.Part[];
}

/** UTF-16 units of text in one reply, and its parts: more than any row or prompt takes. */
export const maxText = 1_048_576;
const maxParts = 100;

/** All of it as parts, in order; text beyond `maxText` and parts beyond 100 are cut off. Bytes, urls and data are exact. */
export function readParts(said: readonly Said[]): readonly RawPart[] {
  const parts: RawPart[] = [];
  let room = maxText;
  for (const { kind, parts: wireParts } of said) {
    let chunks: string[] = [];
    const flush = () => {
      if (chunks.length > 0) parts.push({ kind: 'text', text: chunks.join('') });
      chunks = [];
    };
    for (const wire of wireParts) {
      const part = readPart(wire, room);
      if (part === null) continue;
      if (part.kind === 'text') room -= part.text.length;
      if (kind === 'artifact' && isBareText(part)) {
        chunks.push(part.text);
        continue;
      }
      flush();
      parts.push(part);
    }
    flush();
  }
  return parts.slice(0, maxParts);
}

function isBareText(part: RawPart): part is RawPart & { readonly kind: 'text' } {
  return part.kind === 'text' && part.name === undefined && part.media_type === undefined && part.metadata === undefined;
}

/** The text of what was said, storable. */
export function textOf(said: Said): string {
  const texts = said.parts.flatMap((part) => (part.content?.$case === 'text' ? [storable(String(part.content.value))] : []));
  return said.kind === 'artifact' ? texts.join('') : joinLines(texts);
}

/** One text of many, each on a line of its own unless the former ends in white space. */
export function joinLines(texts: readonly string[]): string {
  const spoken = texts.filter((text) => text !== '');
  return spoken.map((text, place) => (place > 0 && needsBreak(spoken[place - 1]) ? `\n${text}` : text)).join('');
}

/** Whether what follows this text must begin a new line. */
export function needsBreak(former: string | undefined): boolean {
  return former !== undefined && former !== '' && !/\s$/.test(former.slice(-1));
}

/** The part as it is sent. Our `Part`s of kind file never come here: `Files.restore` makes them bytes or links. */
export function writePart(part: RawPart): a2a.Part {
  const about = {
    ...(part.name === undefined ? {} : { filename: part.name }),
    ...(part.media_type === undefined ? {} : { mediaType: part.media_type }),
    ...(part.metadata === undefined ? {} : { metadata: part.metadata }),
  };
  switch (part.kind) {
    case 'text':
      return a2a.Part.fromJSON({ ...about, text: part.text });
    case 'data':
      return a2a.Part.fromJSON({ ...about, data: part.data });
    case 'bytes':
      // The decoder hands `raw` to Buffer.from, which takes bytes as well as base64: no detour over text.
      return a2a.Part.fromJSON({ ...about, raw: part.bytes });
    case 'link':
      return a2a.Part.fromJSON({ ...about, url: part.url });
  }
}

/** Null: it has no content. */
function readPart(wire: a2a.Part, room: number): RawPart | null {
  const about = {
    ...(wire.filename ? { name: storable(wire.filename) } : {}),
    ...(wire.mediaType ? { media_type: storable(wire.mediaType) } : {}),
    ...(wire.metadata === undefined ? {} : { metadata: storableJson(wire.metadata) }),
  };
  switch (wire.content?.$case) {
    case 'text': {
      const text = cut(storable(String(wire.content.value)), room);
      return text === '' && Object.keys(about).length === 0 ? null : { kind: 'text', text, ...about };
    }
    case 'data':
      return { kind: 'data', data: storableJson(wire.content.value), ...about };
    case 'raw':
      return { kind: 'bytes', bytes: new Uint8Array(wire.content.value), ...about };
    case 'url':
      return { kind: 'link', url: storable(String(wire.content.value)), ...about };
    case undefined:
      return null;
  }
}
