import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Servers and SDKs talk; it matters where a test failed.
    silent: 'passed-only',
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 } },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/bundle.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      './vitest.workers.config.ts',
    ],
  },
});
