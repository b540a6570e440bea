/**
 * Certificates for a test or a lab: an authority of its own and one certificate for the controller. Node makes keys but no
 * certificates; node-forge writes them (docs/decisions/0014). For more than a lab use those of your organisation.
 */
import { generateKeyPair, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import forge from 'node-forge';
import { PreduceError } from '../base/errors.js';

export interface CertificateOptions {
  /** Host names and IP addresses under which the controller is reached; this machine's loopback is always added. */
  readonly hosts: readonly string[];
  readonly days: number;
}

/** Both as PEM. */
export interface KeyedCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface Certificates {
  readonly authority: KeyedCertificate;
  readonly certificate: KeyedCertificate;
}

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const KEY_BITS = 3072;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Clocks of a lab are not all right. */
const CLOCK_TOLERANCE_MS = DAY_MS;

/** A host name as certificates hold them (RFC 1123): letters, digits and hyphens between dots; `*.` may begin it. */
const HOST_NAME = /^(?=.{1,253}$)(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** Throws `bad-option` for a host that is neither a name nor an address. */
export async function createCertificates({ hosts, days }: CertificateOptions): Promise<Certificates> {
  for (const host of hosts) {
    if (isIP(host) !== 0 || HOST_NAME.test(host)) continue;
    throw new PreduceError('bad-option', `--hosts: expected host names or IP addresses, got "${host}"`);
  }
  const [authorityKeys, keys] = await Promise.all([createKeys(), createKeys()]);
  const name = [{ name: 'commonName', value: `Preduce lab authority ${randomBytes(4).toString('hex')}` }];
  const authority = newCertificate(authorityKeys, days);
  authority.setSubject(name);
  authority.setIssuer(name);
  authority.setExtensions([
    { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  authority.sign(authorityKeys.privateKey, forge.md.sha256.create());

  const certificate = newCertificate(keys, days);
  certificate.setSubject([{ name: 'commonName', value: 'Preduce controller' }]);
  certificate.setIssuer(name);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: [...new Set([...hosts, ...LOOPBACK])].map(alternativeName) },
    { name: 'subjectKeyIdentifier' },
    { name: 'authorityKeyIdentifier', keyIdentifier: authority.generateSubjectKeyIdentifier().getBytes() },
  ]);
  certificate.sign(authorityKeys.privateKey, forge.md.sha256.create());
  return {
    authority: { certificate: forge.pki.certificateToPem(authority), key: authorityKeys.pem },
    certificate: { certificate: forge.pki.certificateToPem(certificate), key: keys.pem },
  };
}

interface Keys {
  readonly pem: string;
  readonly publicKey: forge.pki.rsa.PublicKey;
  readonly privateKey: forge.pki.rsa.PrivateKey;
}

/** Made by Node, in a fraction of the time. */
async function createKeys(): Promise<Keys> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: KEY_BITS,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return {
    pem: privateKey,
    publicKey: forge.pki.publicKeyFromPem(publicKey),
    privateKey: forge.pki.privateKeyFromPem(privateKey),
  };
}

function newCertificate({ publicKey }: Keys, days: number): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = publicKey;
  // Positive, as the first bit is not set (RFC 5280, 4.1.2.2).
  certificate.serialNumber = `01${randomBytes(15).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - CLOCK_TOLERANCE_MS);
  certificate.validity.notAfter = new Date(Date.now() + days * DAY_MS);
  return certificate;
}

/** Types of GeneralName (RFC 5280, 4.2.1.6): 2 is a DNS name, 7 an IP address. */
function alternativeName(host: string): object {
  return isIP(host) === 0 ? { type: 2, value: host } : { type: 7, ip: host };
}
