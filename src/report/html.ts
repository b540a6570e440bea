/**
 * HTML as a tagged template that escapes whatever is put into it, so that no label, path or message of a run can become
 * markup.
 */

/** Text that is safe to place between tags, or in a quoted attribute. */
export interface Html {
  readonly text: string;
}

export type HtmlValue = string | number | Html | readonly HtmlValue[] | null;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string);
}

/** Declares `text` to be markup: only for text that this program made itself. */
export function trustedHtml(text: string): Html {
  return { text };
}

function render(value: HtmlValue): string {
  if (value === null) return '';
  if (typeof value === 'string') return escapeHtml(value);
  if (typeof value === 'number') return String(value);
  return 'text' in value ? value.text : value.map(render).join('');
}

/** Strings and numbers are escaped, markup and lists of it are placed as they are, null gives nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const text = parts.map((part, index) => part + (index < values.length ? render(values[index] as HtmlValue) : ''));
  return trustedHtml(text.join(''));
}
