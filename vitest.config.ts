import { defineConfig } from 'vitest/config';

// `unit` runs the sources as they are; `process` starts the compiled program (run `npm run build` first).
const resultsFile = process.env['VITEST_RESULTS'];

export default defineConfig({
  test: {
    reporters: resultsFile === undefined ? ['default'] : ['default', ['json', { outputFile: resultsFile }]],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/{property,suites,tidy}/**/*.test.ts'],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'process',
          include: ['test/process/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 60_000,
          // Most of a test's time is waiting for processes to start and for time-outs.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
