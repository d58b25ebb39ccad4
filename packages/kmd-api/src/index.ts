export { descriptionPath, extraPrefix, metricsPath } from './paths.js'
