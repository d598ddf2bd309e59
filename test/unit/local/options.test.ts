import { expect, test } from 'vitest';
import { readOptions } from '../../../src/local/options.ts';

const read = (args: readonly string[], environment = {}, devVars = {}) => readOptions(args, environment, devVars);

test('nothing said means the usual', () => {
  expect(read([])).toEqual({ kind: 'options', options: { port: 8787, databasePort: 4460, data: '.local', variables: {} } });
});

test('an argument wins over the shell, and the shell over the file', () => {
  expect(read([], {}, { PORT: '1' })).toMatchObject({ options: { port: 1 } });
  expect(read([], { PORT: '2' }, { PORT: '1' })).toMatchObject({ options: { port: 2 } });
  expect(read(['--port', '3'], { PORT: '2' }, { PORT: '1' })).toMatchObject({ options: { port: 3 } });
});

test('an empty value counts as none', () => {
  expect(read([], { OPENAI_API_KEY: '' }, { OPENAI_API_KEY: 'key' })).toMatchObject({ options: { variables: { OPENAI_API_KEY: 'key' } } });
  expect(read([], { OPENAI_API_KEY: '', HOME: '/root' })).toMatchObject({ options: { variables: {} } });
});

test.each([[['--port', '0']], [['--port', '70000']], [['--port', 'x']], [['--database-port', '-1']], [['--prot', '1']], [['stray']]])(
  '%j is refused with a reason',
  (args) => {
    expect(read(args)).toMatchObject({ kind: 'wrong', reason: expect.stringMatching(/./) });
  },
);

test('help is help, whatever else is said', () => {
  expect(read(['--help', '--port', 'x'])).toEqual({ kind: 'help' });
});
