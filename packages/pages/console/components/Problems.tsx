/** The problems that prevent a transfer, each with a link to the remedy. */
import type { TransferProblem } from '../model/transferChecks.js'
import { hrefOf } from '../route.js'

type Props = { problems: readonly TransferProblem[]; assetId: string | undefined; own: ReadonlySet<string> }

export function Problems({ problems, assetId, own }: Props) {
  return (
    <div role="alert">
      {problems.length > 0 && (
        <ul class="problems">
          {problems.map(({ text, cure }) => (
            <li key={text}>
              {text}
              {cure !== undefined && own.has(cure.address) && <Cure cure={cure} assetId={assetId} />}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function Cure({ cure, assetId }: { cure: NonNullable<TransferProblem['cure']>; assetId: string | undefined }) {
  const { kind, address } = cure
  const view = kind === 'fund' ? 'receive' : 'opt-in'
  return (
    <>
      {' '}
      <a href={hrefOf({ view, address, assetId: kind === 'fund' ? undefined : assetId })}>
        {kind === 'fund' ? 'Add funds' : 'Opt in'}
      </a>
    </>
  )
}
