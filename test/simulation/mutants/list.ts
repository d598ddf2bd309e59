// Bugs that the protocol must not have: each a change of the shipped source, and the store whose simulation has to find it. Effects: files.

import { readFileSync } from 'node:fs';
import { z } from 'zod';

const mutantSchema = z.strictObject({
  name: z.string(),
  file: z.string(),
  /** Stands exactly once in the file. */
  from: z.string(),
  to: z.string(),
  /** `sql` where the bug is in a statement: the double has statements of its own. */
  store: z.enum(['double', 'sql']),
});
export type Mutant = z.infer<typeof mutantSchema>;

export const mutants: readonly Mutant[] = z
  .array(mutantSchema)
  .parse(JSON.parse(readFileSync(new URL('./list.json', import.meta.url), 'utf8')));
