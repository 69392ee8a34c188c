package synth_test

import (
	"fmt"
	"log"

	"github.com/psi-shapley/psi/internal/synth"
)

func ExampleGenerate() {
	s, err := synth.Generate("synth1", 8000, 1)
	if err != nil {
		log.Fatal(err)
	}
	const row = 0
	for d := range s.X {
		fmt.Printf("x%d = %6.3f  φ = %6.3f ± %.3f\n", d+1, s.X[d][row], s.Mean[d][row], s.Std[d][row])
	}
	fmt.Printf("E y = %.3f, E[y | x] = %.3f, y = %.3f\n", s.Base, s.Expected[row], s.Y[row])
	// Output:
	// x1 = -2.280  φ = -0.216 ± 0.092
	// x2 =  2.428  φ =  0.563 ± 0.486
	// x3 =  2.868  φ =  2.005 ± 0.000
	// E y = 2.866, E[y | x] = 5.218, y = 5.017
}
