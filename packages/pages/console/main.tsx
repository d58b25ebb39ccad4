import { render } from 'preact'

render(<p>Latchkey</p>, document.getElementById('app')!)
