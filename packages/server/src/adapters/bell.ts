/** Tells a worker of this process that there is work. A ring without a listener is lost, but workers also poll. */
export class Bell {
  onRing: () => void = () => {}

  ring(): void {
    this.onRing()
  }
}
