import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimRunDirectory } from './run-directory.js';

let home = '';

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'run-directory-'));
});

afterEach(() => rm(home, { recursive: true }));

describe('claimRunDirectory', () => {
  it('makes the directory and its parents, and takes back what it made and no more', async () => {
    await mkdir(join(home, 'mine'));
    const claimed = await claimRunDirectory(join(home, 'mine', 'a', 'b'));
    await writeFile(claimed.file('left'), 'x');
    expect((await stat(join(home, 'mine', 'a', 'b'))).isDirectory()).toBe(true);
    await claimed.giveBack();
    expect(await readdir(home)).toEqual(['mine']);
    expect(await readdir(join(home, 'mine'))).toEqual([]);
  });

  it('takes an empty directory and leaves it when it is given back', async () => {
    const claimed = await claimRunDirectory(home);
    await claimed.giveBack();
    expect(await readdir(home)).toEqual([]);
  });

  it('refuses a directory with something in it, and a file', async () => {
    await writeFile(join(home, 'note'), 'x');
    await expect(claimRunDirectory(home)).rejects.toMatchObject({ code: 'out-dir-unusable' });
    await expect(claimRunDirectory(join(home, 'note'))).rejects.toMatchObject({ code: 'out-dir-unusable' });
    await expect(claimRunDirectory(join(home, 'note', 'deeper'))).rejects.toMatchObject({ code: 'out-dir-unusable' });
    expect(await readdir(home)).toEqual(['note']);
  });

  it.runIf(process.platform === 'linux')('refuses a place where no directory can be made', async () => {
    // Node's recursive mkdir does not return there.
    await expect(claimRunDirectory('/proc/nowhere/run')).rejects.toMatchObject({ code: 'out-dir-unusable' });
  });
});
