// A JSON parameter as the text that Postgres reads. Pure.

/** For what JSON.parse gave. Strings and null stay; arrays become array literals, objects JSON. Source: neondatabase/neon, proxy/src/serverless/json.rs. */
export function parameterText(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  return Array.isArray(value) ? arrayLiteral(value) : JSON.stringify(value);
}

/** Source: PostgreSQL, 8.15.6 Array Input and Output Syntax. */
function arrayLiteral(values: readonly unknown[]): string {
  const elements = values.map((value) => {
    if (value === null) return 'NULL';
    if (Array.isArray(value)) return arrayLiteral(value);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `"${text.replace(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}
