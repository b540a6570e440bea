/**
 * Options that stand in a file: a YAML mapping whose keys are the flags without their dashes. Every value is read as the
 * text that stands there (YAML's failsafe schema), and goes through the same parser as what is typed: `seed: 007` and
 * `--seed 007` cannot mean two things.
 */
import { readFile, stat } from 'node:fs/promises';
import { isMap, isScalar, isSeq, Lexer, LineCounter, parseDocument, type YAMLError } from 'yaml';
import { messageOf, PreduceError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';

/** One key of a file. */
export interface ConfigEntry {
  readonly key: string;
  /** From 1. */
  readonly line: number;
  readonly value: string | readonly string[];
}

/** A file that is longer was not written by hand: it is named by mistake. (The parser compares each key with all others.) */
const CONFIG_BYTES_MAX = 1 << 16;

/** Reads a file of options. Throws `bad-option`. */
export async function readConfigFile(file: string): Promise<readonly ConfigEntry[]> {
  let text: string;
  try {
    const { size } = await stat(file);
    if (size > CONFIG_BYTES_MAX) {
      throw new Error(`${formatBytes(size)}, more than the ${formatBytes(CONFIG_BYTES_MAX)} that are read`);
    }
    text = await readFile(file, 'utf8');
  } catch (error) {
    throw new PreduceError('bad-option', `--config: expected a readable file of options, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
  return parseConfig(text, file);
}

/** Levels of nesting, and columns of indentation: a list in a mapping is all that options need. */
const DEPTH_MAX = 32;
const INDENTATION_MAX = 100;

/** What the lexer puts before the text of a scalar. */
const SCALAR = '\u001f';

/**
 * Whether the text nests further than any options do. The parser recurses into what is nested, and V8 ends the process where a
 * regular expression is compiled with the stack almost used up.
 */
function isTooDeep(text: string): boolean {
  let inFlow = 0;
  let inLine = 0;
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    if (isText) isText = false;
    else if (token === SCALAR) isText = true;
    else if (token === '[' || token === '{') inFlow += 1;
    else if (token === ']' || token === '}') inFlow -= 1;
    else if (token === '-' || token === '?' || token === ':') inLine += 1;
    else if (token.endsWith('\n')) inLine = 0;
    else if (/^ +$/.test(token) && token.length > INDENTATION_MAX) return true;
    if (Math.max(inFlow, inFlow === 0 ? inLine : 0) > DEPTH_MAX) return true;
  }
  return false;
}

/** `file` is for messages. Throws `bad-option`. */
export function parseConfig(text: string, file: string): readonly ConfigEntry[] {
  if (isTooDeep(text)) {
    throw new PreduceError(
      'bad-option',
      `${file}: expected options like "workers: 8", got lists or mappings in each other, deeply`,
    );
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { schema: 'failsafe', prettyErrors: false, lineCounter: lines });
  const refuse = (expected: string): PreduceError => new PreduceError('bad-option', `${file}: expected ${expected}`);
  const problem: YAMLError | undefined = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) {
    const { line, col } = lines.linePos(problem.pos[0]);
    throw refuse(`YAML, got in line ${line}, column ${col}: ${describeProblem(problem)}`);
  }
  const { contents } = document;
  if (contents === null) return [];
  if (!isMap(contents)) throw refuse('options like "workers: 8", one in a line');
  return contents.items.map(({ key, value }) => {
    if (!isScalar(key) || key.value === '') {
      const { line } = lines.linePos(contents.range?.[0] ?? 0);
      throw refuse(`the name of an option as each key of the mapping from line ${line} on`);
    }
    const name = String(key.value);
    const read = textsOf(value);
    if (read === null) {
      throw new PreduceError(
        'bad-option',
        `${file}: ${name}: expected a value, or a list of values, got ${kindOf(value)}`,
      );
    }
    return { key: name, line: lines.linePos(key.range?.[0] ?? 0).line, value: read };
  });
}

function textsOf(node: unknown): string | readonly string[] | null {
  if (isScalar(node)) return node.value === '' ? null : String(node.value);
  if (!isSeq(node) || node.items.length === 0) return null;
  const texts = node.items.map((item) => (isScalar(item) ? String(item.value) : ''));
  return texts.includes('') ? null : texts;
}

function kindOf(node: unknown): string {
  if (node === null || isScalar(node)) return 'nothing';
  if (isMap(node)) return 'a mapping';
  if (!isSeq(node)) return 'an alias';
  return node.items.length === 0 ? 'an empty list' : 'a list of something else';
}

/** The parser's words, but where it speaks of its own functions. */
function describeProblem({ code, message }: YAMLError): string {
  return code === 'MULTIPLE_DOCS' ? 'a second document' : (message.split('\n', 1)[0] ?? '');
}
