/** Tells a worker of this process that there is work. A ring that nobody hears is lost, but workers also look on their own. */
export class Bell {
  onRing: () => void = () => {}

  ring(): void {
    this.onRing()
  }
}
