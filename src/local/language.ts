// The language of whoever sits at the terminal. Pure.

export type Language = 'en' | 'zh';

/** Source: POSIX, 8.2 Internationalization Variables: LC_ALL wins over the others. */
export function languageOf(environment: Readonly<Record<string, string | undefined>>): Language {
  const { LC_ALL, LC_MESSAGES, LANG } = environment;
  return (LC_ALL || LC_MESSAGES || LANG || '').toLowerCase().startsWith('zh') ? 'zh' : 'en';
}
