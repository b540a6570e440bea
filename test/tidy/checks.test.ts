/** The checkers themselves, on small texts: each must let the good pass and find the bad. */
import { describe, expect, it } from 'vitest';
import { blankProse } from './blank.js';
import { importsOf, reachFaults, ROOMS, roomFaults, roomOf } from './imports.js';
import { commandFaults, linkFaults } from './page-checks.js';
import { anyFaults, defaultExportFaults, headerFaults, LINES_MAX, lengthFaults, pureFaults } from './source-checks.js';

const file = (text: string, path = 'src/core/a.ts'): { path: string; text: string } => ({ path, text });

describe('blankProse', () => {
  it.each<[string, string, string]>([
    ['a line comment', 'a // b\nc', 'a     \nc'],
    ['a block comment over lines', 'a /* b\nc */ d', 'a     \n     d'],
    ['strings, escapes too', String.raw`a('x\'y', "z") b`, `a(${' '.repeat(6)}, ${' '.repeat(3)}) b`],
    ['slashes in a string', `a('ws://b') c`, `a(${' '.repeat(8)}) c`],
    ['a quote in a pattern', `a.replace(/[/']/g, b)`, `a.replace(${' '.repeat(6)}g, b)`],
    ['no division', 'a / b / c', 'a / b / c'],
  ])('blanks %s', (_, text, blanked) => {
    expect(blankProse(text)).toBe(blanked);
  });

  it('keeps the code in templates, nested ones too', () => {
    const text = 'f(`any ${any ? `any ${{ x: y }.x} any` : z} any`, g)';
    const blanked = blankProse(text);
    expect(blanked.length).toBe(text.length);
    expect(blanked.replaceAll(/\s+/g, ' ')).toBe('f( any ? { x: y }.x : z , g)');
  });

  it('keeps strings where asked', () => {
    expect(blankProse(`import 'a'; // 'b'`, { keepStrings: true })).toBe(`import 'a';       `);
  });
});

describe('importsOf', () => {
  it('reads every form, and none in comments', () => {
    const text = [
      `import 'a';`,
      `import b from 'b';`,
      `import {\n  c,\n  type d,\n} from 'c';`,
      `import type { E } from 'e';`,
      `export { f } from 'f';`,
      `export * from 'g';`,
      `const h = await import('h');`,
      `type I = typeof import('i');`,
      `// import 'no';`,
      `/* import 'no'; */`,
      `export const j = 'no';`,
      `export function k(from = 'no') {}`,
    ].join('\n');
    expect(importsOf(text)).toEqual(['a', 'b', 'c', 'e', 'f', 'g', 'h', 'i']);
  });
});

describe('the map of rooms', () => {
  it.each<[string, string | null]>([
    ['src/core/strategies/a.ts', 'core'],
    ['src/collective/plan/a.ts', 'collective/plan'],
    ['src/collective/a.ts', 'collective'],
    ['src/index.ts', 'index.ts'],
    ['test/a.ts', null],
  ])('finds the room of %s', (path, room) => {
    expect(roomOf(path)).toBe(room);
  });

  it.each(Object.keys(ROOMS))('goes down only: %s cannot reach itself', (room) => {
    const below = new Set(ROOMS[room]);
    for (const lower of below) for (const next of ROOMS[lower] ?? []) below.add(next);
    expect([...below]).not.toContain(room);
    expect(Object.keys(ROOMS)).toEqual(expect.arrayContaining([...below]));
  });

  it.each(['engine', 'models', 'data'])('keeps the network from %s', (room) => {
    for (const network of ['core', 'observe', 'transport', 'collective', 'controller', 'worker']) {
      expect(ROOMS[room]).not.toContain(network);
    }
  });

  const there = ['src/base/b.ts', 'src/cli/c.ts', 'src/index.ts', 'src/collective/plan/p.ts', 'src/collective/q.ts'];
  it.each<[string, string, string, readonly string[]]>([
    ['down', 'src/core/a.ts', '../base/b.js', []],
    ['down from a folder within', 'src/core/deep/a.ts', '../../base/b.js', []],
    ['plans from above', 'src/observe/a.ts', '../collective/plan/p.js', []],
    ['a package', 'src/core/a.ts', 'zod', []],
    ['from the surface', 'src/client.ts', './cli/c.js', []],
    ['up', 'src/core/a.ts', '../cli/c.js', ['src/core/a.ts: core imports cli (src/cli/c.ts)']],
    [
      'the executor from the plans',
      'src/collective/plan/a.ts',
      '../q.js',
      ['src/collective/plan/a.ts: collective/plan imports collective (src/collective/q.ts)'],
    ],
    ['the surface', 'src/cli/a.ts', '../index.js', ['src/cli/a.ts: imports src/index.ts, which is not of a room']],
    ['nothing', 'src/cli/a.ts', './gone.js', ['src/cli/a.ts: imports src/cli/gone.ts, which is not there']],
    ['from an unknown room', 'src/attic/a.ts', '../base/b.js', ['src/attic/a.ts: "attic" is not a room of the map']],
  ])('judges an import %s', (_, path, specifier, faults) => {
    const files = [...there.map((other) => file('', other)), file(`import { x } from '${specifier}';`, path)];
    expect(roomFaults(files)).toEqual(faults);
  });

  it('follows imports to what must not be reached', () => {
    const files = [
      file(`export { a } from './core/a.js';`, 'src/client.ts'),
      file(`import '../base/b.js';\nimport '../engine/e.js';`),
      file(`import 'heavy';`, 'src/base/b.ts'),
      file('', 'src/engine/e.ts'),
    ];
    expect(reachFaults(files, 'src/client.ts', ['engine', 'heavy'])).toEqual([
      'src/client.ts reaches src/engine/e.ts through src/core/a.ts',
      'src/client.ts reaches heavy through src/base/b.ts',
    ]);
    expect(reachFaults(files, 'src/client.ts', ['other'])).toEqual([]);
    expect(reachFaults([], 'src/client.ts', [])).toEqual(['src/client.ts reaches src/client.ts, which is not there']);
  });
});

describe('lengthFaults', () => {
  it('counts lines, not line ends', () => {
    expect(lengthFaults(file('a\n'.repeat(LINES_MAX)))).toEqual([]);
    expect(lengthFaults(file(`${'a\n'.repeat(LINES_MAX)}a`))).toEqual([
      'src/core/a.ts: 601 lines, at most 600 are allowed',
    ]);
  });
});

describe('headerFaults', () => {
  it.each(['/**\n * What.\n */\nimport x;', '/** What. */', '#!/usr/bin/env node\n/** What. */'])(
    'passes %j',
    (text) => {
      expect(headerFaults(file(text))).toEqual([]);
    },
  );

  it.each(['', 'import x;\n/** What. */', '// What.', '/** */', '/* What. */'])('finds %j', (text) => {
    expect(headerFaults(file(text))).toEqual(['src/core/a.ts: begins without a header comment']);
  });
});

describe('anyFaults', () => {
  it.each(['let a: string; // any', `say('any')`, 'Promise.any([a])', 'any(a)', '{ any: 1 }', 'many'])(
    'passes %s',
    (text) => {
      expect(anyFaults(file(text))).toEqual([]);
    },
  );

  it.each(['let a: any;', 'a as any', 'Array<any>', 'any[]', 'f(a: any): void', '`${a as any}`'])(
    'finds %s',
    (text) => {
      expect(anyFaults(file(`\n${text}`))).toEqual(['src/core/a.ts:2: any, use unknown']);
    },
  );
});

describe('defaultExportFaults', () => {
  it.each(['export const a = 1;', '// export default a', 'import a from "a";'])('passes %s', (text) => {
    expect(defaultExportFaults(file(text))).toEqual([]);
  });

  it.each(['export default a;', 'export { a as default };', 'export default function a() {}'])('finds %s', (text) => {
    expect(defaultExportFaults(file(text)).length).toBe(1);
  });
});

describe('pureFaults', () => {
  it.each(['// Date.now()', 'step(nowMs)', 'Math.max(a)', `import { z } from 'zod';`, 'event.processed'])(
    'passes %s',
    (text) => {
      expect(pureFaults(file(text))).toEqual([]);
    },
  );

  const clocks = ['Date.now()', 'new Date()', 'performance.now()', 'Math.random()', 'Math . random()', 'setTimeout(a)'];
  const system = ['process.env', `import 'node:fs';`, `import { x } from 'fs';`, `import { WebSocket } from 'ws';`];
  it.each([...clocks, ...system])('finds %s', (text) => {
    const paths = ['src/core/a.ts', 'src/core/b/a.ts', 'src/wire/a.ts', 'src/collective/plan/a.ts'];
    expect(paths.map((path) => pureFaults(file(text, path)).length)).toEqual([1, 1, 1, 1]);
    expect(pureFaults(file(text, 'src/worker/a.ts'))).toEqual([]);
  });
});

describe('the checks of pages', () => {
  const exists = (path: string): boolean => ['docs/a.md', 'examples/01.mjs', 'README.md'].includes(path);

  it.each(['[a](a.md)', '[a](a.md#part)', '[a](../README.md "title")', '[a](#part)', '[a](https://b.c/d)', '`[a](b)`'])(
    'passes the link %s',
    (text) => {
      expect(linkFaults(file(text, 'docs/page.md'), exists)).toEqual([]);
    },
  );

  it.each(['[a](b.md)', '![a](b.md)', '[a](b.md#part)', '[a]: b.md', '<img src="b.md">'])(
    'finds the link %s',
    (text) => {
      expect(linkFaults(file(text, 'docs/page.md'), exists)).toEqual([
        'docs/page.md: links to docs/b.md, which is not there',
      ]);
    },
  );

  it('finds a link that leaves the repository', () => {
    expect(linkFaults(file('[a](../../a.md)', 'docs/page.md'), () => true).length).toBe(1);
  });

  it.each(['npm run build', 'npm test', 'npm ci && npm run demo', 'node examples/01.mjs', 'node ./examples/01.mjs.'])(
    'passes the command %s',
    (text) => {
      expect(commandFaults(file(text), ['build', 'test', 'demo'], exists)).toEqual([]);
    },
  );

  it.each([
    'npm run nope',
    'npm run test:unit',
    '`npm start`',
    'node examples/02.mjs',
    'node --inspect examples/02.mjs',
  ])('finds the command %s', (text) => {
    expect(commandFaults(file(text), ['build', 'test', 'demo'], exists).length).toBe(1);
  });
});
