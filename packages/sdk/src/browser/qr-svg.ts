import { renderSVG } from 'uqr'

/** Returns a QR code as an `<svg>` element. */
export function qrSvg(text: string): string {
  return renderSVG(text)
}
