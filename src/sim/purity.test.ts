import { describe, expect, it } from 'vitest';
import { reachFaults } from '../../test/tidy/imports.js';
import { projectFiles } from '../../test/tidy/project-files.js';

const sources = projectFiles(/^src\/.*(?<!\.test)\.ts$/);
/** Of src/sim/workload, which holds an engine, a simulation knows no more than the problem that it gives. */
const own = sources.filter(({ path }) => /^src\/sim\/(?!workload\/)/.test(path));

/** Rooms with sockets, threads, engines and files, and the packages behind them. */
const IMPURE = ['transport', 'controller', 'worker', 'launch', 'data', 'models', 'report', 'dashboard', 'cli'];
const PACKAGES = ['ws', 'onnxruntime-node', 'onnx-proto', 'echarts', 'commander', 'node:worker_threads'];
const MODULES = ['fs', 'fs/promises', 'net', 'timers', 'timers/promises', 'perf_hooks', 'crypto', 'os', 'process'];

describe('the simulator', () => {
  it('reaches no socket, thread, file, engine or clock', () => {
    expect(own.length).toBeGreaterThan(8);
    const forbidden = [...IMPURE, ...PACKAGES, ...MODULES.map((name) => `node:${name}`)];
    expect(reachFaults(sources, 'src/sim/simulate.ts', forbidden)).toEqual([]);
  });

  it('asks no clock and throws no dice of its own', () => {
    const words = /\b(?:Date|performance|setTimeout|setInterval|setImmediate|process\.|Promise|Math\s*\.\s*random)\b/;
    const faults = own.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => (words.test(line) ? [`${path}:${i + 1}: ${line.trim()}`] : [])),
    );
    expect(faults).toEqual([]);
  });
});
