// Bytes at rest: a file, and text or data too large for a row. Effects: Postgres.

import { sql } from 'drizzle-orm';
import type { RawPart } from '../agent/reply.ts';
import { type FilePart, fileId, type Part } from '../intention/message.ts';
import type { Files, Ids } from '../world.ts';
import type { Database } from './database.ts';

/** Larger text or data goes to the table; a row stays light to load. */
const maxInlineBytes = 16 * 1024;
/** One file; a larger one is named, its bytes are not kept. */
export const maxFileBytes = 10 * 1024 * 1024;

export function createFiles(db: Database, ids: Ids): Files {
  async function store(
    owner: string,
    conversation: string,
    file: { name: string; mediaType: string; bytes: Uint8Array },
  ): Promise<FilePart> {
    const id = fileId(ids.next());
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new Uint8Array(file.bytes)));
    await db.one(sql`insert into file (id, owner_id, conversation_id, name, media_type, size, sha256, bytes)
      values (${id}::uuid, ${owner}, ${conversation}::uuid, ${file.name}, ${file.mediaType}, ${file.bytes.length}, ${hex(digest)}, decode(${base64(file.bytes)}, 'base64'))
      on conflict do nothing`);
    return { kind: 'file', file_id: id, url: `/v1/files/${id}`, name: file.name, media_type: file.mediaType, size: file.bytes.length };
  }

  async function keepOne(owner: string, conversation: string, part: RawPart): Promise<Part> {
    const about = part.metadata === undefined ? {} : { metadata: part.metadata };
    switch (part.kind) {
      case 'link':
        return { ...part, kind: 'file' };
      case 'bytes': {
        if (part.bytes.length > maxFileBytes) {
          const name = part.name ?? 'file';
          return { kind: 'text', text: `[${name}: ${part.bytes.length} bytes, too large to keep]`, ...about };
        }
        const kept = await store(owner, conversation, {
          name: part.name ?? '',
          mediaType: part.media_type ?? '',
          bytes: part.bytes,
        });
        return { ...kept, ...about };
      }
      case 'text':
      case 'data': {
        const bytes = new TextEncoder().encode(part.kind === 'text' ? part.text : JSON.stringify(part.data));
        if (bytes.length <= maxInlineBytes) return part;
        const mediaType = part.media_type ?? '';
        const kept = await store(owner, conversation, { name: part.name ?? '', mediaType, bytes });
        return { ...kept, was: part.kind, ...about };
      }
    }
  }

  async function read(owner: string, id: string) {
    const [row] = await db.one<{ name: string; media_type: string; body: string }>(
      sql`select name, media_type, encode(bytes, 'base64') as body from file where id = ${id}::uuid and owner_id = ${owner}`,
    );
    return row ? { bytes: fromBase64(row.body), name: row.name, mediaType: row.media_type } : null;
  }

  async function restoreOne(owner: string, part: Part): Promise<RawPart> {
    if (part.kind !== 'file') return part;
    const about = {
      ...(part.name ? { name: part.name } : {}),
      ...(part.media_type ? { media_type: part.media_type } : {}),
      ...(part.metadata === undefined ? {} : { metadata: part.metadata }),
    };
    if (part.file_id === undefined) return { kind: 'link', url: part.url, ...about };
    const file = await read(owner, part.file_id);
    if (!file) return { kind: 'text', text: `[${part.name ?? 'file'}: no longer kept]` };
    if (part.was === 'text') return { kind: 'text', text: new TextDecoder().decode(file.bytes), ...about };
    if (part.was === 'data') return { kind: 'data', data: JSON.parse(new TextDecoder().decode(file.bytes)), ...about };
    return { kind: 'bytes', bytes: file.bytes, ...about };
  }

  return {
    keep: async (owner, conversation, parts) => {
      const kept: Part[] = [];
      for (const part of parts) kept.push(await keepOne(owner, conversation, part));
      return kept;
    },
    restore: (owner, parts) => Promise.all(parts.map((part) => restoreOne(owner, part))),
    read: (owner, id) => read(owner, id),
  };
}

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');

function base64(bytes: Uint8Array): string {
  const chunks: string[] = [];
  // A call takes so many arguments at most.
  for (let start = 0; start < bytes.length; start += 0x8000) chunks.push(String.fromCharCode(...bytes.subarray(start, start + 0x8000)));
  return btoa(chunks.join(''));
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text.replaceAll('\n', ''));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
