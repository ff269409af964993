import { cards, textOn } from '../lib/brand.ts'
import { Html, html } from '../lib/html.ts'
import { logoId, type MailLogo, type MailParts } from '../lib/mail.ts'

/** A mail before it is laid out. All texts are plain. */
export interface MailContent {
  language: string
  subject: string
  /** The name of the app, at the top. */
  place: string | undefined
  logo: MailLogo | undefined
  accentColor: string | null
  hello: string
  before: readonly string[]
  /** What the mail is for. `leadsTo` stands before the link in the text part, `fallback` before the one that can be copied. */
  button?: { label: string; leadsTo: string; link: string; fallback: string; isHarmful?: boolean } | undefined
  code?: { label: string; code: string } | undefined
  /** Lines to type in a terminal. */
  commands?: readonly string[] | undefined
  after: readonly string[]
  other?: { text: string; label: string; link: string } | undefined
  footer: readonly string[]
}

const columns = 72
const usualAccent = '#2f6fde'
/** For a button that leads to the end of something. */
const harmful = '#b42318'

export function renderMail(content: MailContent): MailParts {
  const { subject, logo } = content
  return { subject, text: textOf(content), html: htmlOf(content), logo }
}

/** The text part stands alone. Each link has a line of its own, however long. */
function textOf({ hello, before, button, code, commands = [], after, other, footer }: MailContent): string {
  const parts = [
    hello,
    ...before,
    ...(button ? [button.leadsTo, { link: button.link }] : []),
    ...(code ? [`${code.label} ${code.code}`] : []),
    ...(commands.length > 0 ? [{ link: commands.join('\n') }] : []),
    ...after,
    ...(other ? [other.text, { link: other.link }] : []),
    { link: ['-- ', ...footer.map(wrap)].join('\n') },
  ]
  return parts.map((part) => `${typeof part === 'string' ? wrap(part) : part.link}\n`).join('\n')
}

/** Wraps text at a width. A longer word gets a separate line. */
function wrap(paragraph: string): string {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join('\n')
}

// Mail programs know few properties, and some only on table cells, so each cell says everything. What they do not know of the style
// sheet they ignore: it is for dark mode alone.
const light = { ground: '#f3f4f6', card: cards.light, text: '#1b1f24', quiet: '#57606a', box: '#f3f4f6' }
const dark = { ground: '#0f1318', card: cards.dark, text: '#e6e9ee', quiet: '#a9b2bd', box: '#262d36' }
const font = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const mono = 'font-family:Consolas,Menlo,monospace'
const darkStyle = `
:root { color-scheme: light dark; }
@media (prefers-color-scheme: dark) {
  .ground { background-color: ${dark.ground} !important; }
  .card { background-color: ${dark.card} !important; }
  .text { color: ${dark.text} !important; }
  .quiet { color: ${dark.quiet} !important; }
  .box { background-color: ${dark.box} !important; color: ${dark.text} !important; }
}
`

function htmlOf(content: MailContent): string {
  const { language, subject, footer } = content
  const { markup } = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${subject}</title>
<style>${new Html(darkStyle)}</style>
</head>
<body class="ground" style="margin:0;padding:0;background-color:${light.ground}">
<table role="presentation" class="ground" width="100%" border="0" cellpadding="0" cellspacing="0" bgcolor="${light.ground}" style="background-color:${light.ground}">
<tr><td align="center" style="padding:24px 12px">
<table role="presentation" class="card" width="100%" border="0" cellpadding="0" cellspacing="0" bgcolor="${light.card}" style="width:100%;max-width:520px;background-color:${light.card}">
<tr><td align="left" style="padding:28px 24px 12px 24px">
<table role="presentation" width="100%" border="0" cellpadding="0" cellspacing="0">
${cardRows(content)}</table>
</td></tr>
</table>
<table role="presentation" width="100%" border="0" cellpadding="0" cellspacing="0" style="width:100%;max-width:520px">
<tr><td align="left" class="quiet" style="padding:16px 24px;color:${light.quiet};${font};font-size:13px;line-height:20px">${footer.map((line, index) => html`${index > 0 && html`<br>`}${line}`)}</td></tr>
</table>
</td></tr>
</table>
</body>
</html>
`
  // As UTF-8, and markup stays escaped.
  return markup.replace(/&#(\d+);/g, (escaped, point) => (Number(point) > 0x7f ? String.fromCodePoint(Number(point)) : escaped))
}

/** The rows below each other in the card. */
function cardRows(content: MailContent): (Html | string | false | undefined)[] {
  const { place, logo, accentColor, hello, before, button, code, commands = [], after, other } = content
  const accent = button?.isHarmful ? harmful : (accentColor ?? usualAccent)
  return [
    logo && logoOf(logo),
    place && cell('quiet', `padding:0 0 16px 0;color:${light.quiet};font-size:16px;line-height:24px;font-weight:bold`, place),
    paragraph(hello),
    ...before.map(paragraph),
    button && buttonOf(button, accent),
    ...(code ? [paragraph(code.label), box(codeStyle, code.code), gap] : []),
    ...commands.map((command) => box(commandStyle, command)),
    commands.length > 0 && gap,
    ...after.map(paragraph),
    button && small(html`${button.fallback}<br>${linkOf(button.link, button.link)}`),
    other && small(html`${other.text}<br>${linkOf(other.link, other.label)}`),
  ]
}

function logoOf({ width, height }: NonNullable<MailContent['logo']>): Html {
  return cell(
    'card',
    'padding:0 0 16px 0',
    html`<table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td bgcolor="#ffffff" style="padding:0;background-color:#ffffff"><img src="${`cid:${logoId}`}" alt="" width="${width}" height="${height}" style="display:block;border:0"></td></tr></table>`,
  )
}

function buttonOf({ link, label }: NonNullable<MailContent['button']>, accent: string): Html {
  return cell(
    'card',
    'padding:8px 0 24px 0',
    html`<table role="presentation" border="0" cellpadding="0" cellspacing="0"><tr><td align="center" bgcolor="${accent}" style="padding:12px 24px;background-color:${accent};${font};font-size:16px;line-height:24px"><a href="${link}" style="color:${textOn(accent)};font-weight:bold;text-decoration:none">${label}</a></td></tr></table>`,
  )
}

function cell(kind: string, style: string, inner: Html | string): Html {
  return html`<tr><td class="${kind}" style="${style.includes('font-family') ? style : `${font};${style}`}">${inner}</td></tr>\n`
}

const codeStyle = { padding: '12px 16px', font: 'font-size:28px;line-height:36px;letter-spacing:4px;font-weight:bold' }
const commandStyle = { padding: '8px 12px', font: 'font-size:14px;line-height:20px;word-break:break-word' }

/** What people copy. */
function box({ padding, font }: { padding: string; font: string }, text: string): Html {
  return cell('box', `padding:${padding};background-color:${light.box};color:${light.text};${mono};${font}`, text)
}

const gap = cell('card', 'padding:0 0 16px 0;font-size:1px;line-height:1px', ' ')

function paragraph(text: string): Html {
  return cell('text', `padding:0 0 16px 0;color:${light.text};font-size:16px;line-height:24px;word-break:break-word`, text)
}

function small(inner: Html): Html {
  return cell('quiet', `padding:0 0 16px 0;color:${light.quiet};font-size:14px;line-height:20px;word-break:break-word`, inner)
}

function linkOf(link: string, label: string): Html {
  return html`<a href="${link}" class="quiet" style="color:${light.quiet};text-decoration:underline">${label}</a>`
}
