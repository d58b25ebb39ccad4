// The default theme without its web font: the site loads nothing that the reader's system has already.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'

// biome-ignore lint/style/noDefaultExport: VitePress takes the theme from the default export.
export default DefaultTheme
