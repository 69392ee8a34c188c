// Command notices compares THIRD_PARTY_NOTICES.txt with the programs that are released. write.py asks go list and npm for what is
// inside; this asks the linker's input, the bytes of a built program, and what the viewer's build records.
//
//	cd scripts/notices && go run . PROGRAM
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
)

const root = "../.." // of the repository, seen from here

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notices PROGRAM, a psi that was built from this source")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, program string) error {
	text, err := os.ReadFile(root + "/THIRD_PARTY_NOTICES.txt")
	if err != nil {
		return err
	}
	notices, faults := parse(string(text))
	inside, err := look(ctx, program)
	if err != nil {
		return err
	}
	faults = append(faults, compare(notices, inside)...)
	licences, unfit := classify(notices)
	faults = append(faults, unfit...)
	for _, fault := range faults {
		fmt.Println(fault)
	}
	if len(faults) > 0 {
		return fmt.Errorf("faults in THIRD_PARTY_NOTICES.txt: %d; run make notices, look at what changed, and commit it", len(faults))
	}
	fmt.Printf("modules in the programs: %d; of them in psi-cloud alone: %d\n", len(inside.modules), inside.countCloud())
	fmt.Printf("modules in the module graph and not in the programs: %d\n", len(inside.unlinked))
	fmt.Printf("packages of the viewer: %d; its build records %d\n", len(inside.viewer), len(inside.bundled))
	fmt.Printf("fonts: %s\n", strings.Join(inside.fonts, ", "))
	fmt.Printf("licences: %s\n", licences)
	return nil
}
