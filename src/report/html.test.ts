import { describe, expect, it } from 'vitest';
import { html, trustedHtml } from './html.js';

describe('html', () => {
  it('escapes strings, and places numbers, markup and lists', () => {
    const item = html`<li>${'<&>'}</li>`;
    expect(html`<ul title="${`"'`}">${[item, item]}${3}${null}${trustedHtml('<hr>')}</ul>`.text).toBe(
      '<ul title="&quot;&#39;"><li>&lt;&amp;&gt;</li><li>&lt;&amp;&gt;</li>3<hr></ul>',
    );
  });
});
