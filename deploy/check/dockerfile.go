package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/buildkit/solver/pb"
	"github.com/opencontainers/go-digest"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
)

// bases stands for the registry: it says of every base image with a tag that it is there and sets nothing.
type bases struct{}

func (bases) ResolveImageConfig(_ context.Context, ref string, opt sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	if strings.HasSuffix(ref, ":latest") {
		return "", "", nil, fmt.Errorf("%s: an image without a tag, or a stage that is not there", ref)
	}
	image := ocispecs.Image{Platform: ocispecs.Platform{OS: "linux", Architecture: "amd64"}}
	if opt.ImageOpt != nil && opt.ImageOpt.Platform != nil {
		image.Platform = *opt.ImageOpt.Platform
	}
	config, err := json.Marshal(image)
	return ref, digest.FromBytes(config), config, err
}

// dockerfile reads a Dockerfile as a build would, up to running its steps, with BuildKit's lint rules, for each target
// and both processors; and holds the images to what the chart takes for granted.
func dockerfile(args []string, out io.Writer) error {
	if len(args) < 2 {
		return errors.New("give the Dockerfile and its targets")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var problems []error
	for _, target := range args[1:] {
		for _, processor := range []string{"amd64", "arm64"} {
			if err := image(content, target, processor); err != nil {
				problems = append(problems, fmt.Errorf("%s, target %s for %s: %w", args[0], target, processor, err))
				continue
			}
			if _, err := fmt.Fprintf(out, "%s: %s for %s ok\n", args[0], target, processor); err != nil {
				return err
			}
		}
	}
	return errors.Join(problems...)
}

func image(content []byte, target, processor string) error {
	ctx := context.Background()
	platform := &ocispecs.Platform{OS: "linux", Architecture: processor}
	caps := pb.Caps.CapSet(pb.Caps.All())
	opt := dockerfile2llb.ConvertOpt{TargetPlatform: platform, MetaResolver: bases{}, LLBCaps: &caps}
	opt.Target = target
	opt.BuildPlatforms = []ocispecs.Platform{{OS: "linux", Architecture: "amd64"}}
	var problems []error
	opt.Warn = func(rule, _, _, message string, _ []parser.Range) {
		problems = append(problems, fmt.Errorf("%s: %s", rule, message))
	}
	result, err := dockerfile2llb.Dockerfile2LLB(ctx, content, opt)
	if err != nil {
		return err
	}
	if _, err := result.State.Marshal(ctx, llb.Platform(*platform)); err != nil { // the steps, as they would go to the builder
		return err
	}
	config := result.Image.Config
	if config.User != "65532:65532" {
		problems = append(problems, fmt.Errorf("runs as %q, want 65532:65532", config.User))
	}
	if len(config.Entrypoint) != 1 || !strings.HasPrefix(config.Entrypoint[0], "/") {
		problems = append(problems, fmt.Errorf("entry point %q: want the program alone, without a shell", config.Entrypoint))
	}
	if len(config.Cmd) == 0 || config.Cmd[0] != "serve" || !slices.Contains(config.Cmd, "--token-file") || slices.Contains(config.Cmd, "--insecure") {
		problems = append(problems, fmt.Errorf("starts with %q: want a server that asks for tokens", config.Cmd))
	}
	for _, label := range []string{"title", "description", "source", "licenses", "version", "revision"} {
		if config.Labels["org.opencontainers.image."+label] == "" {
			problems = append(problems, fmt.Errorf("no label org.opencontainers.image.%s", label))
		}
	}
	return errors.Join(problems...)
}

// stage prints what a stage of a Dockerfile does, as a shell script: the variables of it and of the stages it is made
// from, and its own commands.
func stage(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("give the Dockerfile and a stage")
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(bytes.NewReader(content))
	if err != nil {
		return err
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return err
	}
	at, found := instructions.HasStage(stages, args[1])
	if !found {
		return fmt.Errorf("%s has no stage %s", args[0], args[1])
	}
	var variables, commands []string
	for own := true; found; own = false {
		var set []string
		for _, command := range stages[at].Commands {
			switch c := command.(type) {
			case *instructions.EnvCommand:
				for _, v := range c.Env {
					set = append(set, fmt.Sprintf("export %s=%s", v.Key, v.Value))
				}
			case *instructions.RunCommand:
				if own {
					commands = append(commands, strings.Join(c.CmdLine, " "))
				}
			}
		}
		variables = append(set, variables...)
		at, found = instructions.HasStage(stages, stages[at].BaseName)
	}
	for _, line := range append(variables, commands...) {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}
