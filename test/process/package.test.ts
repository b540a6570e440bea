/**
 * The package as users get it: packed, installed in an empty folder without the engine, its command and its first example run.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const INSTALL_TIMEOUT_MS = 300_000;

let home = '';

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'preduce-package-'));
  // The compiled program is there already: no need to build it again.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', home], { cwd: PROJECT });
  const [tarball] = (await readdir(home)).filter((name) => name.endsWith('.tgz'));
  await writeFile(join(home, 'package.json'), '{ "private": true, "type": "module" }');
  const args = ['install', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', [...args, `./${tarball}`], { cwd: home });
}, INSTALL_TIMEOUT_MS);

afterAll(() => rm(home, { recursive: true, force: true }));

describe('the package, installed without the engine', () => {
  it('has no engine', async () => {
    expect(await readdir(join(home, 'node_modules'))).not.toContain('onnxruntime-node');
  });

  it('runs its command', async () => {
    const { stdout } = await run(join(home, 'node_modules', '.bin', 'preduce'), ['--help']);
    expect(stdout).toContain('Train one model on machines of unequal speed');
  });

  it('says what is missing when it is to train', async () => {
    const command = run(join(home, 'node_modules', '.bin', 'preduce'), ['train'], { cwd: home });
    await expect(command).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('npm install') });
  });

  it('runs the first example', async () => {
    await cp(join(home, 'node_modules', 'preduce', 'examples', '01-first-run.mjs'), join(home, 'first.mjs'));
    const { stdout } = await run(process.execPath, ['first.mjs'], { cwd: home });
    expect(stdout.match(/y = 3\.0\d x - 1\.0\d|y = 2\.9\d x - (?:0\.9\d|1\.0\d)/g)?.length).toBe(3);
  });

  it('has types that need nothing but @types/node', async () => {
    await writeFile(
      join(home, 'user.mts'),
      `import { compare, controller, joinRun, type RunEvent, train } from 'preduce';
       import { joinRun as join } from 'preduce/client';
       const run = await joinRun({ layout: [{ name: 'x', shape: [2] }], initial: new Float32Array(2) });
       await run.reduce({ samples: 1 });
       export const model: Float32Array = await run.finish();
       export const all: unknown[] = [compare, controller, train, join];
       export type Event = RunEvent;`,
    );
    const compilerOptions = {
      target: 'ES2023',
      lib: ['ES2023'],
      module: 'NodeNext',
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(PROJECT, 'node_modules', '@types')],
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['user.mts'] }));
    const tsc = run(join(PROJECT, 'node_modules', '.bin', 'tsc'), ['-p', home]);
    expect(await tsc.catch((error: { stdout: string }) => error.stdout)).toMatchObject({ stdout: '' });
  });

  it('sums with SIMD', async () => {
    expect(await readdir(join(home, 'node_modules', 'preduce', 'dist', 'collective', 'kernel'))).toContain(
      'kernels.wasm',
    );
  });
});
