// Ports of this machine, loopback only. Effects: sockets.

import net from 'node:net';

export const loopback = '127.0.0.1';

/** Port 0: any free one. Null: the port is taken. Other troubles are thrown. */
export function listen(server: net.Server, port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error));
    server.once('error', onError);
    server.listen(port, loopback, () => {
      server.off('error', onError);
      const address = server.address();
      if (address === null || typeof address === 'string') reject(new Error('a TCP server has no port'));
      else resolve(address.port);
    });
  });
}

/** Null: it is taken. Somebody may take it before it is used: then the one that wanted it says so. */
export async function freePort(port = 0): Promise<number | null> {
  const server = net.createServer();
  const found = await listen(server, port);
  if (found !== null) await new Promise((resolve) => server.close(resolve));
  return found;
}
