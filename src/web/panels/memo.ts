import { Component, type FunctionComponent, h } from 'preact'

/** Returns a component that is rendered again only when its properties have other contents. */
export function memo<Props extends object>(render: FunctionComponent<Props>): new (props: Props) => Component<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return JSON.stringify(next) !== JSON.stringify(this.props)
    }

    override render() {
      return h(render, this.props)
    }
  }
}
