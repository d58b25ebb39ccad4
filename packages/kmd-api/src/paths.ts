/** The prefix of operations that the Go daemon does not have. Its clients never request these paths. */
export const extraPrefix = '/latchkey/v1'

/** The path of the API description, which is the document itself and not an envelope. */
export const descriptionPath = '/swagger.json'

/** The path of the metrics, in the text format of Prometheus. */
export const metricsPath = `${extraPrefix}/metrics`
