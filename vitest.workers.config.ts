import { cloudflareTest } from '@cloudflare/vitest-plugin';
import { defineProject } from 'vitest/config';

export default defineProject({
  plugins: [
    cloudflareTest(({ inject }) => ({
      wrangler: { configPath: './wrangler.toml' },
      miniflare: {
        bindings: {
          DATABASE_URL: 'postgres://tester:secret@db.local.invalid/main',
          NEON_FETCH_ENDPOINT: inject('database'),
          OPENAI_API_KEY: 'none',
          OPENAI_BASE_URL: inject('model'),
          OPENAI_MODEL: 'stand-in',
          A2A_AGENTS: inject('agents'),
          ALLOW_ANONYMOUS: '1',
        },
      },
    })),
  ],
  test: {
    name: 'integration',
    include: ['test/integration/**/*.test.ts'],
    globalSetup: ['test/support/integration-setup.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
