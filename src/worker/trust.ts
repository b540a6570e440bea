/**
 * Whether a controller may be told the token: who proves to be one, over a connection that nobody else can read.
 */
import type { ConnectionOptions } from 'node:tls';
import { PreduceError } from '../base/errors.js';
import { isLoopback } from '../base/loopback.js';

/** Whom to believe that it is the controller, in PEM: whoever an authority vouches for, or the owner of one certificate. */
export type Trust =
  | { readonly kind: 'authority'; readonly pem: string }
  | { readonly kind: 'certificate'; readonly pem: string };

/** Null where no certificate is named: those that the system trusts. */
export function trustOf(kind: Trust['kind'], pem: string | null): Trust | null {
  return pem === null ? null : { kind, pem };
}

export interface Target {
  /** ws:// or wss:// address. */
  readonly controller: string;
  readonly token: string | null;
  /** For wss://. Null (default): the authorities that this system trusts. */
  readonly trust?: Trust | null;
  /** Whether the token may travel where others can read it. Default false. */
  readonly insecure?: boolean;
}

/** Throws `bad-option` where the token would be readable on its way. */
export function checkCleartext({ controller, token, insecure }: Target): void {
  const { protocol, hostname } = new URL(controller);
  if (token === null || insecure === true || protocol === 'wss:' || isLoopback(hostname)) return;
  throw new PreduceError(
    'bad-option',
    `--controller: expected a wss:// address beyond this machine, as everybody on the way can read the token, got ${controller}: ` +
      'start the controller with --tls-cert and --tls-key, or pass --insecure (insecure: true) in a network that you trust',
  );
}

export function tlsOptionsOf(trust: Trust | null | undefined): ConnectionOptions {
  if (trust == null) return {};
  if (trust.kind === 'authority') return { ca: trust.pem };
  // The certificate itself is known, whatever name it is reached by.
  return { ca: trust.pem, allowPartialTrustChain: true, checkServerIdentity: () => undefined };
}

const ADVICE: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for other hosts: make one that names this host (preduce certs --hosts)',
  CERT_HAS_EXPIRED: 'its certificate has expired: make a new one',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: check the clocks of both machines',
  EPROTO: 'it does not speak TLS: use a ws:// address, or start it with --tls-cert and --tls-key',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS: use a ws:// address, or start it with --tls-cert and --tls-key',
};

const UNKNOWN_AUTHORITY =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|CERT_(SIGNATURE|UNTRUSTED))/;

/** What it means for a connection to end with `error` in the TLS handshake; null: it is about something else. */
export function untrusted(controller: string, error: unknown): PreduceError | null {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const advice = UNKNOWN_AUTHORITY.test(code)
    ? "its certificate is of an authority that this machine does not trust: pass --tls-ca (tlsCa) with that authority's certificate"
    : ADVICE[code];
  if (advice === undefined) return null;
  return new PreduceError(
    'untrusted',
    `expected a controller to be trusted at ${controller}, got "${message}": ${advice}`,
    {
      cause: error,
    },
  );
}
