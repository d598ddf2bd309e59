// What a process has used so far, as Linux tells it. Effects: reads /proc.

import { readdir, readFile } from 'node:fs/promises';

/** Of /proc on every Linux that Node runs on. Source: proc(5), sysconf(_SC_CLK_TCK). */
const msPerTick = 10;

/** User and system time of all its threads in ms, in steps of 10. */
export async function cpuMsOf(pid: number): Promise<number> {
  const fields = await statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

/** Resident memory in KiB. */
export async function residentKibOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}

/** The workerd that `parent` started. Throws when there is none. */
export async function workerdOf(parent: number): Promise<number> {
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const [, ppid] = await statOf(pid).catch(() => []);
    if (Number(ppid) === parent && (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).startsWith('workerd')) return pid;
  }
  throw new Error(`process ${parent} has no workerd`);
}

/** The fields after the command's name, which may hold anything: state, parent, ... Source: proc(5). */
async function statOf(pid: number): Promise<readonly string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
