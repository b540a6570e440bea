/**
 * Certificates and keys in files, looked at before anything begins: a handshake that fails later says less.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf, PreduceError } from '../base/errors.js';
import type { TlsIdentity } from '../controller/control-server.js';

async function readPem(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new PreduceError('bad-option', `${flag}: expected a readable file, got "${messageOf(error)}"`, {
      cause: error,
    });
  }
}

/** The first certificate of a file in PEM. */
function certificateIn(flag: string, file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new PreduceError('bad-option', `${flag}: expected a certificate in PEM, got ${file}, where there is none`, {
      cause: error,
    });
  }
}

/** Certificates of authorities; null where no file is named. Throws `bad-option`. */
export async function readAuthority(file: string | undefined): Promise<string | null> {
  if (file === undefined) return null;
  const pem = await readPem('--tls-ca', file);
  certificateIn('--tls-ca', file, pem);
  return pem;
}

/** Null where neither file is named. Throws `bad-option`, also for a key that belongs to another certificate. */
export async function readTlsIdentity(files: {
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}): Promise<TlsIdentity | null> {
  const { tlsCert, tlsKey } = files;
  if (tlsCert === undefined && tlsKey === undefined) return null;
  if (tlsCert === undefined || tlsKey === undefined) {
    const [given, missing] = tlsKey === undefined ? ['--tls-cert', '--tls-key'] : ['--tls-key', '--tls-cert'];
    throw new PreduceError(
      'bad-option',
      `${given}: expected a ${missing} beside it, got none: a certificate needs its key`,
    );
  }
  const certificate = await readPem('--tls-cert', tlsCert);
  const key = await readPem('--tls-key', tlsKey);
  const parsed = certificateIn('--tls-cert', tlsCert, certificate);
  let matches: boolean;
  try {
    matches = parsed.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    const message = `--tls-key: expected a private key in PEM, without a passphrase, got ${tlsKey}, which is none`;
    throw new PreduceError('bad-option', message, { cause: error });
  }
  if (!matches) {
    throw new PreduceError('bad-option', `--tls-key: expected the key of ${tlsCert}, got that of another certificate`);
  }
  if (Date.parse(parsed.validTo) < Date.now()) {
    throw new PreduceError(
      'bad-option',
      `--tls-cert: expected a certificate that is valid, got one until ${parsed.validTo}`,
    );
  }
  return { certificate, key };
}
