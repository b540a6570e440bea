/**
 * `preduce certs`: certificates and a token for a run across the machines of a lab.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { messageOf, PreduceError } from '../base/errors.js';
import { wholeNumber } from './parse.js';

interface CertsFlags {
  readonly hosts?: readonly string[];
  readonly days: number;
}

/** Readable by their owner only: `secret`. */
interface NewFile {
  readonly name: string;
  readonly text: string;
  readonly secret: boolean;
  readonly purpose: string;
}

const DAYS_MAX = 3650;
const TOKEN_BYTES = 24;

function days(text: string): number {
  const value = wholeNumber('--days')(text);
  if (value >= 1 && value <= DAYS_MAX) return value;
  throw new PreduceError('bad-option', `--days: expected 1 to ${DAYS_MAX} days, got ${value}`);
}

function hostList(text: string): readonly string[] {
  return text.split(',').map((host) => host.trim());
}

export function addCertsCommand(program: Command): void {
  program
    .command('certs <dir>')
    .description('make certificates and a token for runs across the machines of a lab')
    .option(
      '--hosts <a,b>',
      'names and addresses under which workers reach the controller (localhost: always)',
      hostList,
    )
    .option('--days <n>', 'how long the certificates are valid', days, 365)
    .addHelpText(
      'after',
      `
Writes an authority of its own, a certificate for the controller, and a token.
Files that are there are never written over. Workers need two of them: ca.pem
and token.txt.

Examples:
  preduce certs lab --hosts 10.0.0.1
  preduce controller --workload mnist-mlp --bind 0.0.0.0 \\
    --token-file lab/token.txt --tls-cert lab/controller.pem \\
    --tls-key lab/controller-key.pem
  preduce worker --controller wss://10.0.0.1:29400 \\
    --token-file token.txt --tls-ca ca.pem`,
    )
    .action(runCerts);
}

async function runCerts(directory: string, flags: CertsFlags): Promise<void> {
  const { createCertificates } = await import('../security/certificates.js');
  const { authority, certificate } = await createCertificates({ hosts: flags.hosts ?? [], days: flags.days });
  const files: readonly NewFile[] = [
    { name: 'ca.pem', text: authority.certificate, secret: false, purpose: 'for workers: --tls-ca' },
    {
      name: 'ca-key.pem',
      text: authority.key,
      secret: true,
      purpose: 'signs more certificates; keep it, or delete it',
    },
    { name: 'controller.pem', text: certificate.certificate, secret: false, purpose: 'for the controller: --tls-cert' },
    { name: 'controller-key.pem', text: certificate.key, secret: true, purpose: 'for the controller: --tls-key' },
    {
      name: 'token.txt',
      text: `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`,
      secret: true,
      purpose: 'for both: --token-file',
    },
  ];
  await writeAll(directory, files);
  const width = Math.max(...files.map(({ name }) => name.length));
  for (const { name, purpose } of files) process.stdout.write(`${join(directory, name.padEnd(width))}  ${purpose}\n`);
}

/** Throws `out-dir-unusable`, also where one of the files is there already. */
async function writeAll(directory: string, files: readonly NewFile[]): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    for (const { name, text, secret } of files) {
      await writeFile(join(directory, name), text, { flag: 'wx', mode: secret ? 0o600 : 0o644 });
    }
  } catch (error) {
    throw new PreduceError(
      'out-dir-unusable',
      `${directory}: expected a folder to write new files to, got "${messageOf(error)}": choose another one`,
      { cause: error },
    );
  }
}
