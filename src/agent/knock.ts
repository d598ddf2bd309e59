// Whether anybody listens at an address of this machine. Effects: network, by workerd's sockets.

import { connect } from 'cloudflare:sockets';
import { knockMs } from '../intention/limits.ts';

/**
 * False: nothing listens, for certain. workerd tells a refused connection and one lost on the way by the same words, and only
 * the first may be tried again; Cloudflare's edge tells them apart by status (521 and others), so this is for local agents.
 */
export async function knock(url: URL): Promise<boolean> {
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const socket = connect({ hostname: url.hostname, port });
  const patience = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => patience.resolve(true), knockMs);
  try {
    return await Promise.race([
      socket.opened.then(
        () => true,
        () => false,
      ),
      patience.promise,
    ]);
  } finally {
    clearTimeout(timer);
    // Already closed or never open: either way it is of no further use.
    await socket.close().catch(() => undefined);
  }
}
