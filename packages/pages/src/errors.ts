import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'

/** Every error code that functions of this package throw, with its meaning and what to do about it. */
export const errors = {
  invalid_paywall_logo: {
    message: 'the logo is not an https: URL or a data:image/ URL, or it is too long',
    hint: 'Pass an https: URL, or a data:image/ URL of at most 65536 characters.',
  },
  invalid_paywall_style: {
    message: 'the colour or a style property is not a CSS custom property with a plain value',
    hint: 'Use names such as --radius, and values without url(), quotes, semicolons or braces.',
  },
  invalid_paywall_footer: {
    message: 'the footer URL is not an http: or https: URL',
    hint: 'Pass an absolute http: or https: URL.',
  },
  unknown_paywall_wallet: {
    message: 'the paywall has no connector for a wallet',
    hint: 'Use the names in paywallWallets: pera, defly, lute, exodus, kibisis.',
  },
  invalid_paywall_kmd: {
    message: 'the key daemon’s URL is not an http: or https: URL',
    hint: 'Pass an absolute URL such as http://127.0.0.1:4002.',
  },
  invalid_paywall_page: {
    message: 'a custom paywall function returned neither a string nor a Response',
    hint: 'Return the HTML as a string, or a Response.',
  },
  pages_not_built: {
    message: 'the web pages are not available',
    hint: 'In a clone, run: npm run build. In a runtime without a file system, pass a custom paywall function.',
  },
} as const satisfies ErrorRegistry

/** One of the error codes of this package. */
export type ErrorCode = keyof typeof errors

/** The code of a {@link PaywallError}. */
export type PaywallErrorCode = Exclude<ErrorCode, 'pages_not_built'>

/** The paywall's options are not valid. */
export class PaywallError extends LatchkeyError<PaywallErrorCode> {
  override name = 'PaywallError'

  constructor(code: PaywallErrorCode, message: string = errors[code].message) {
    super(code, message, { hint: errors[code].hint })
  }
}

/** The files of the pages are not available. */
export class PagesError extends LatchkeyError<'pages_not_built'> {
  override name = 'PagesError'

  constructor(code: 'pages_not_built') {
    super(code, errors[code].message, { hint: errors[code].hint })
  }
}
