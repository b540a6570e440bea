/**
 * Checks of what README and docs promise: that links lead somewhere and that the commands they name are there.
 */
import { posix } from 'node:path';
import type { SourceFile } from './imports.js';

/** Links of a page in Markdown or HTML, code left out. */
function linksOf(page: string): readonly string[] {
  const prose = page.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  const found = prose.matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)|\b(?:src|href)="([^"]+)"/gm);
  return [...found].map(([, inline, reference, html]) => inline ?? reference ?? html ?? '');
}

/** Relative links to what is not there. `exists` takes a path from the repository's root. */
export function linkFaults({ path, text }: SourceFile, exists: (path: string) => boolean): readonly string[] {
  return linksOf(text)
    .filter((link) => !/^(?:[a-z][a-z+.-]*:|#)/i.test(link))
    .map((link) => posix.join(posix.dirname(path), decodeURI(link.replace(/[#?].*$/, ''))))
    .filter((target) => target.startsWith('..') || !exists(target))
    .map((target) => `${path}: links to ${target}, which is not there`);
}

/** Commands that name a script of package.json or an example which is not there. */
export function commandFaults(
  { path, text }: SourceFile,
  scripts: readonly string[],
  exists: (path: string) => boolean,
): readonly string[] {
  const named = [...text.matchAll(/\bnpm (?:run ([\w:.-]*\w)|(test|start)\b)/g)].map(
    ([, run, own]) => run ?? own ?? '',
  );
  const examples = [...text.matchAll(/\bnode (?:--\S+ )*((?:\.\/)?examples\/[\w./-]*\w)/g)].map(
    ([, file = '']) => file,
  );
  return [
    ...named
      .filter((script) => !scripts.includes(script))
      .map((script) => `${path}: names the script "${script}", which package.json has not`),
    ...examples
      .filter((file) => !exists(posix.normalize(file)))
      .map((file) => `${path}: names ${file}, which is not there`),
  ];
}
