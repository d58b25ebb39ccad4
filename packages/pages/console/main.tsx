import { render } from 'preact'
import { App } from './App.js'
import './styles/index.css'

const root = document.getElementById('app')!
// What the page shows until its script is there.
root.replaceChildren()
render(<App />, root)
