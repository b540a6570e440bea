import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfigEntry, parseConfig, readConfigFile } from './config-file.js';

describe('a file of options', () => {
  it.each<[string, string, readonly ConfigEntry[]]>([
    ['nothing', '', []],
    ['only a comment', '# later\n', []],
    ['a number', 'workers: 8\n', [{ key: 'workers', line: 1, value: '8' }]],
    [
      'values as they are written',
      'seed: 007\nlr: .05\nout: 2026-01-31\nquiet: true\nlabel: null\nyes: no',
      [
        { key: 'seed', line: 1, value: '007' },
        { key: 'lr', line: 2, value: '.05' },
        { key: 'out', line: 3, value: '2026-01-31' },
        { key: 'quiet', line: 4, value: 'true' },
        { key: 'label', line: 5, value: 'null' },
        { key: 'yes', line: 6, value: 'no' },
      ],
    ],
    ['colons and commas in a value', 'slow: straggler:3,4', [{ key: 'slow', line: 1, value: 'straggler:3,4' }]],
    [
      'a list, over lines',
      '# slow ones\nslow:\n  - straggler:3,4\n  - "random:.1,100ms"\nseed: 2',
      [
        { key: 'slow', line: 2, value: ['straggler:3,4', 'random:.1,100ms'] },
        { key: 'seed', line: 5, value: '2' },
      ],
    ],
    ['a list in brackets', 'strategies: [a, b]', [{ key: 'strategies', line: 1, value: ['a', 'b'] }]],
    [
      'JSON, which is YAML',
      '{"workers": 8, "slow": ["hl:3"]}',
      [
        { key: 'workers', line: 1, value: '8' },
        { key: 'slow', line: 1, value: ['hl:3'] },
      ],
    ],
    [
      'keys of objects of the language',
      '__proto__: 1\nconstructor: 2',
      [
        { key: '__proto__', line: 1, value: '1' },
        { key: 'constructor', line: 2, value: '2' },
      ],
    ],
    [
      'brackets and hyphens in texts',
      `a: "${'['.repeat(100)}"\nb: x${' - x'.repeat(50)}\nc: |\n  ${'{'.repeat(100)}\n`,
      [
        { key: 'a', line: 1, value: '['.repeat(100) },
        { key: 'b', line: 2, value: `x${' - x'.repeat(50)}` },
        { key: 'c', line: 3, value: `${'{'.repeat(100)}\n` },
      ],
    ],
  ])('with %s', (_name, text, entries) => {
    expect(parseConfig(text, 'run.yaml')).toEqual(entries);
  });

  it.each([
    ['a list', '- workers', /^run\.yaml: expected options like "workers: 8", one in a line$/],
    ['only text', 'workers 8', /^run\.yaml: expected options like/],
    [
      'an empty value',
      'lr: .1\nworkers:\n',
      /^run\.yaml: workers: expected a value, or a list of values, got nothing$/,
    ],
    ['an empty text', 'out: ""', /out: expected a value.* got nothing/],
    ['a mapping', 'train:\n  workers: 8', /train: expected a value.* got a mapping/],
    ['an empty list', 'slow: []', /slow: expected a value.* got an empty list/],
    ['a list in a list', 'slow: [[a]]', /slow: expected a value.* got a list of something else/],
    ['an alias', 'lr: &x .1\nalpha: *x', /alpha: expected a value.* got an alias/],
    ['an alias to nowhere', 'lr: *x', /got an alias/],
    ['the same key twice', 'lr: 1\nseed: 1\nlr: 2', /expected YAML, got in line 3, column 1: Map keys must be unique/],
    ['a bracket that is open', 'slow: [a', /expected YAML, got in line 1, column \d+: /],
    ['tabs', '\tlr: 1', /expected YAML, got in line 1, column 1: Tabs/],
    ['a tag', 'lr: !number 1', /expected YAML, got in line 1, column 5: Unresolved tag/],
    ['two documents', 'lr: 1\n---\nlr: 2', /expected YAML, got in line 2, column 1: a second document/],
    ['a list for a key', '? [a]\n: 1', /expected the name of an option as each key/],
    ['an empty key', '"": 1', /expected the name of an option as each key/],
    ['lists that are nested deeply', `slow: ${'['.repeat(20_000)}`, /got lists or mappings in each other, deeply$/],
    ['mappings that are nested deeply', '{a: '.repeat(20_000), /deeply$/],
    ['lists in lists, line by line', '- '.repeat(20_000), /deeply$/],
    [
      'mappings nested by indentation',
      Array.from({ length: 200 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      /deeply$/,
    ],
    ['binary data', '\u0000\u0001', /^run\.yaml: expected/],
  ])('with %s is refused in one line', (_name, text, message) => {
    const read = (): unknown => parseConfig(text, 'run.yaml');
    expect(read).toThrow(expect.objectContaining({ code: 'bad-option', message: expect.stringMatching(message) }));
    expect(read).toThrow(/^[^\n]*$/);
  });
});

describe('readConfigFile', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'preduce-config-'));
    await writeFile(join(folder, 'long.yaml'), '');
    await truncate(join(folder, 'long.yaml'), 2 ** 16 + 1);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('reads a file', async () => {
    await writeFile(join(folder, 'run.yaml'), 'workers: 8');
    expect(await readConfigFile(join(folder, 'run.yaml'))).toEqual([{ key: 'workers', line: 1, value: '8' }]);
  });

  it.each([
    ['that is not there', 'none.yaml', /^--config: expected a readable file of options, got "ENOENT/],
    ['that is a folder', '.', /^--config: expected a readable file of options, got "EISDIR/],
    ['that is too long', 'long.yaml', /^--config: .* got ".*, more than the .* that are read"$/],
  ])('refuses one %s', async (_name, file, message) => {
    await expect(readConfigFile(join(folder, file))).rejects.toMatchObject({
      code: 'bad-option',
      message: expect.stringMatching(message),
    });
  });
});
