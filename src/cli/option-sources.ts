/**
 * Where options come from beside the command line: variables of the environment (`PREDUCE_GROUP_SIZE`) and a file
 * (`--config run.yaml`), under the names of the flags. What is typed wins over variables, these over the file, the file
 * over defaults. Each text goes through the flag's own parser; a value that another source overrides is checked, too.
 */
import type { Command, Option } from 'commander';
import { PreduceError } from '../base/errors.js';
import { nearestName } from '../base/nearest.js';
import { type ConfigEntry, readConfigFile } from './config-file.js';
import { collect, path } from './parse.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** For the help of a command that has other sources. */
export const SOURCES_HELP = `
Options may also stand in a YAML file (--config run.yaml; its keys are the flags
without dashes, like "group-size: 3") and in variables (PREDUCE_GROUP_SIZE=3,
PREDUCE_QUIET=true; ";" between the values of one that can be repeated). Flags
win over variables, variables over the file, the file over defaults.
`;

const PREFIX = 'PREDUCE_';

/** Options that are of the command line only. */
const TYPED_ONLY: ReadonlySet<string> = new Set(['--config', '--help', '--version']);

/** Sources by attribute of the option, for messages: `PREDUCE_LR`, `lr in run.yaml`. */
const placesOf = new WeakMap<Command, Map<string, string>>();

/** Lets a command take its options from a file and from variables, too. */
export function addConfigFlag(command: Command): Command {
  return command.option('--config <file>', 'a YAML file with options, see below', path('--config'));
}

/** `--group-size`: `PREDUCE_GROUP_SIZE`. */
export function variableOf(flag: string): string {
  return `${PREFIX}${flag.replace(/^--/, '').replaceAll('-', '_').toUpperCase()}`;
}

/** Where a flag's value stands, where that is not the command line. */
export function placeOf(command: Command, flag: string): string | null {
  const option = command.options.find(({ long }) => long === flag);
  return option === undefined ? null : (placesOf.get(command)?.get(option.attributeName()) ?? null);
}

/** Fills in what was not typed. False: the command has no other sources, as it has no `--config`. Throws `bad-option`. */
export async function applySources(command: Command, environment: Environment): Promise<boolean> {
  const configFlag = command.options.find(({ long }) => long === '--config');
  if (configFlag === undefined) return false;
  const places = new Map<string, string>();
  placesOf.set(command, places);
  const variable = variableOf('--config');
  const typed = command.getOptionValue('config') as string | undefined;
  const file = typed ?? (environment[variable] || undefined);
  if (typed === undefined && file !== undefined) places.set('config', variable);
  if (file !== undefined) {
    for (const entry of await readConfigFile(file)) applyEntry(command, entry, file);
  }
  for (const option of sourcedOptions(command)) {
    const name = variableOf(option.long);
    const text = environment[name];
    // As everywhere, an empty variable is one that is not set.
    if (text === undefined || text === '') continue;
    const texts = isRepeatable(option) ? text.split(';').map((part) => part.trim()) : [text];
    take(command, option, { place: name, texts, source: 'env' });
  }
  return true;
}

/** One line on the variables that belong to no option of any command; null where there are none. */
export function unknownVariables(program: Command, environment: Environment): string | null {
  const known = new Set([...allOptions(program)].map(({ long }) => variableOf(long ?? '')));
  const unknown = Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !known.has(name));
  if (unknown.length === 0) return null;
  const named = unknown.toSorted().map((name) => {
    const nearest = nearestName(
      name.slice(PREFIX.length),
      [...known].map((each) => each.slice(PREFIX.length)),
    );
    return nearest === null ? name : `${name} (did you mean ${PREFIX}${nearest}?)`;
  });
  return `ignored, as there is no such option: ${named.join(', ')}`;
}

type SourcedOption = Option & { readonly long: string };

function sourcedOptions(command: Command): readonly SourcedOption[] {
  return command.options.filter(
    (option): option is SourcedOption => option.long !== undefined && !TYPED_ONLY.has(option.long),
  );
}

function* allOptions(command: Command): Generator<Option> {
  yield* command.options;
  for (const child of command.commands) yield* allOptions(child);
}

function isRepeatable(option: Option): boolean {
  return option.parseArg === collect;
}

/** Whether it takes several values with commas between, as its flags show: `--strategies <a,b>`. */
function takesCommas(option: Option): boolean {
  return /<[^>]*,[^>]*>/.test(option.flags);
}

function applyEntry(command: Command, { key, line, value }: ConfigEntry, file: string): void {
  const option = sourcedOptions(command).find(({ long }) => long === `--${key}`);
  if (option === undefined) throw unknownKey(command, { key, line, value }, file);
  const isList = typeof value !== 'string';
  if (isList && !isRepeatable(option) && !takesCommas(option)) {
    throw new PreduceError('bad-option', `${file}: ${key}: expected one value, got a list of ${value.length}`);
  }
  const texts = isList ? (isRepeatable(option) ? value : [value.join(',')]) : [value];
  take(command, option, { place: `${key} in ${file}`, texts, source: 'config' });
}

function unknownKey(command: Command, { key, line }: ConfigEntry, file: string): PreduceError {
  const names = sourcedOptions(command)
    .filter(({ hidden }) => !hidden)
    .map(({ long }) => long.slice(2));
  const siblings = (command.parent?.commands ?? []).filter((each) =>
    sourcedOptions(each).some(({ long }) => long === `--${key}`),
  );
  const nearest = nearestName(key.replace(/^--/, ''), names);
  const hint =
    siblings.length > 0
      ? ` (it belongs to ${siblings.map((sibling) => sibling.name()).join(', ')})`
      : nearest === null
        ? ''
        : ` (did you mean ${nearest}?)`;
  return new PreduceError(
    'bad-option',
    `${file}: unknown key "${key}" in line ${line}${hint}; see \`preduce ${command.name()} --help\``,
  );
}

interface Given {
  /** For messages. */
  readonly place: string;
  readonly texts: readonly string[];
  readonly source: 'config' | 'env';
}

/** Parses a value, and sets it unless something stronger is there. The file comes first, then variables. */
function take(command: Command, option: Option, { place, texts, source }: Given): void {
  const name = option.attributeName();
  const places = placesOf.get(command);
  // Should the parser refuse it, this is the place that the message is about.
  places?.set(name, place);
  const value = parse(option, texts);
  if (command.getOptionValueSource(name) === 'cli') places?.delete(name);
  else command.setOptionValueWithSource(name, value, source);
}

function parse(option: Option, texts: readonly string[]): unknown {
  if (option.isBoolean()) return parseBoolean(option, texts[0] ?? '');
  const { parseArg } = option;
  if (parseArg === undefined) return texts[0];
  return texts.reduce<unknown>((previous, text) => parseArg(text, previous), undefined);
}

function parseBoolean(option: Option, text: string): boolean {
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw new PreduceError('bad-option', `${option.long}: expected true or false, got "${text}"`);
}

/** Whether the option of this attribute was given, from wherever. */
export function isGiven(command: Command, name: string): boolean {
  const source = command.getOptionValueSource(name);
  return source !== undefined && source !== 'default';
}
