// What `npm run dev` is told: arguments over the shell's environment over .dev.vars. Pure.

import { parseArgs } from 'node:util';
import { pick, type Variables } from './bindings.ts';

export interface Options {
  readonly port: number;
  /** Port of the SQL bridge; 0: any free one. */
  readonly databasePort: number;
  /** Folder of everything that is kept between starts. */
  readonly data: string;
  /** Environment and .dev.vars as one. */
  readonly variables: Variables;
}

type Environment = Readonly<Record<string, string | undefined>>;

export type OptionsRead =
  | { readonly kind: 'options'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly reason: string };

/** `devVars` is .dev.vars as parsed. A reason never repeats a value of the environment. */
export function readOptions(args: readonly string[], environment: Environment, devVars: Environment): OptionsRead {
  const variables = { ...pick(devVars), ...pick(environment) };
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        port: { type: 'string', default: variables.PORT ?? '8787' },
        'database-port': { type: 'string', default: '4460' },
        data: { type: 'string', default: '.local' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return { kind: 'help' };
    const port = readPort(values.port);
    const databasePort = readPort(values['database-port']);
    if (port === null || port === 0) return { kind: 'wrong', reason: '--port (or PORT) must be a number from 1 to 65535' };
    if (databasePort === null) return { kind: 'wrong', reason: '--database-port must be a number from 0 to 65535' };
    return { kind: 'options', options: { port, databasePort, data: values.data, variables } };
  } catch (thrown) {
    return { kind: 'wrong', reason: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

function readPort(text: string): number | null {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null;
}
