/** Share of a normal distribution within z standard deviations: √(2/π)·e^(−z²/2)·Σ_n z^(2n+1)/(1·3·5⋯(2n+1)). */
export function within(z: number): number {
  let term = z, sum = z;
  for (let n = 3; term > 1e-17 * sum; n += 2) sum += term *= (z * z) / n;
  return Math.sqrt(2 / Math.PI) * Math.exp((-z * z) / 2) * sum;
}

/** Share of Student's t within √freedom·tan(angle), for whole degrees of freedom: Abramowitz and Stegun 26.7.3 and 26.7.4. */
function withinT(angle: number, freedom: number): number {
  const odd = freedom % 2, cosine = Math.cos(angle);
  let term = odd ? cosine : 1, sum = 0;
  for (let n = 1 + odd; n < freedom; n += 2) { // powers of the cosine up to freedom − 2
    sum += term;
    term *= (cosine * cosine * n) / (n + 1);
  }
  return odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}

/** How many standard deviations an interval has on either side that holds as much as ± z of a normal distribution. Doubt is
 * estimated from few trainings, so it is Student's t with one degree of freedom less than there are bags. Without bags it is z. */
export function reachOf(z: number, bags: number): number {
  if (bags < 2) return z;
  const freedom = bags - 1, share = within(z);
  let low = 0, high = Math.PI / 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (withinT(middle, freedom) < share) low = middle;
    else high = middle;
  }
  return Math.sqrt(freedom) * Math.tan(low);
}
