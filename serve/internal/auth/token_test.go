package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTokensArePermissions(t *testing.T) {
	secrets, lines := map[Permission]string{}, []string{"# who may do what\n", "\n"}
	for allowed := Infer; allowed <= grantable; allowed += Infer {
		secret, line := newToken(t, fmt.Sprintf("caller-%d", allowed), allowed)
		secrets[allowed], lines = secret, append(lines, line)
	}
	g, _, _, _ := tokenGuard(t, lines...)
	for allowed, secret := range secrets {
		for _, needed := range []Permission{Infer, Admin, Metrics} {
			caller, err := g.Admit(t.Context(), bearer(secret), needed)
			if allowed&needed == 0 {
				refused(t, fmt.Sprintf("%v for %v", allowed, needed), err, ErrForbidden)
				continue
			}
			if want := (Caller{fmt.Sprintf("caller-%d", allowed), "token", allowed}); err != nil || caller != want {
				t.Errorf("%v for %v: %v, %v, want %v", allowed, needed, caller, err, want)
			}
		}
	}
}

func TestWrongTokensAreRefusedAlike(t *testing.T) {
	secret, line := newToken(t, "ann", Infer)
	other, _ := newToken(t, "bob", Infer)
	g, _, _, _ := tokenGuard(t, line)
	flipped := []byte(secret)
	flipped[len(flipped)-2] ^= 1
	for _, authorization := range []string{
		"", "Bearer", "Bearer ", "Bearer " + other, "Bearer " + string(flipped), "Bearer " + secret[:len(secret)-1],
		"Bearer " + secret + "A", "Bearer " + secret + " " + secret, "Basic " + secret, secret, "Bearer " + strings.ToUpper(secret),
		"Bearer " + secret[len(tokenPrefix):], "Bearer psi_", "Bearer " + strings.Repeat("A", 1<<20), "Bearer \x00", "Bearer " + line,
	} {
		_, err := g.Admit(t.Context(), Credentials{Authorization: authorization, Remote: "192.0.2.1"}, Infer)
		refused(t, fmt.Sprintf("%.60q", authorization), err, ErrUnauthenticated)
		if strings.Contains(Reason(err), secret) {
			t.Errorf("%.60q: the reason holds the secret: %s", authorization, Reason(err))
		}
	}
	admitted(t, "bearer in small letters", g, Credentials{Authorization: "bearer " + secret}, Infer)
}

// A hash of a chosen password may stand in the file, but the password lets nobody in.
func TestChosenPasswordsAreNoTokens(t *testing.T) {
	const password = "psi_correct-horse"
	g, _, _, _ := tokenGuard(t, fmt.Sprintf("ann infer sha256:%x\n", sha256.Sum256([]byte(password))))
	_, err := g.Admit(t.Context(), bearer(password), Infer)
	refused(t, "a password", err, ErrUnauthenticated)
}

func TestNewTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret, line := newToken(t, "ann", Infer|Metrics)
		random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(secret, "psi_"))
		if err != nil || len(random) != 32 || seen[secret] {
			t.Fatalf("token %q: %d bytes, %v, seen %v", secret, len(random), err, seen[secret])
		}
		seen[secret] = true
		if want := fmt.Sprintf("ann infer,metrics sha256:%x\n", sha256.Sum256([]byte(secret))); line != want {
			t.Fatalf("line %q, want %q", line, want)
		}
	}
	for _, name := range []string{"", "two words", "line\nbreak", "#ann", "\x1b[31m", "a\u202eb", strings.Repeat("a", 256), "\xff"} {
		if secret, _, err := NewToken(name, Infer); err == nil || secret != "" {
			t.Errorf("a token for the name %.20q", name)
		}
	}
	for _, allowed := range []Permission{0, Public, Public | Infer, 16, Infer | 128} {
		if _, _, err := NewToken("ann", allowed); err == nil {
			t.Errorf("a token for the permission %d", allowed)
		}
	}
}

func TestRevocationByEditing(t *testing.T) {
	ann, annLine := newToken(t, "ann", Infer)
	bob, bobLine := newToken(t, "bob", Infer)
	g, path, at, told := tokenGuard(t, annLine)
	admitted(t, "ann", g, bearer(ann), Infer)

	write(t, path, 0o600, bobLine) // as long as before
	at.move(checkInterval)
	_, err := g.Admit(t.Context(), bearer(ann), Infer)
	refused(t, "ann after she was taken out", err, ErrUnauthenticated)
	admitted(t, "bob after he was put in", g, bearer(bob), Infer)

	write(t, path, 0o600, strings.Replace(bobLine, "infer", "admin", 1))
	at.move(checkInterval)
	_, err = g.Admit(t.Context(), bearer(bob), Infer)
	refused(t, "bob after he may only administer", err, ErrForbidden)

	write(t, path, 0o600, "# nobody\n")
	at.move(checkInterval)
	_, err = g.Admit(t.Context(), bearer(bob), Admin)
	refused(t, "bob after all were taken out", err, ErrUnauthenticated)
	if list := told.all(); len(list) != 0 {
		t.Errorf("good files were reported: %q", list)
	}
}

func TestTokenFileIsReadAtMostOnceASecond(t *testing.T) {
	ann, annLine := newToken(t, "ann", Infer)
	g, path, at, _ := tokenGuard(t, annLine)
	write(t, path, 0o600, "# nobody\n")
	at.move(checkInterval - time.Nanosecond)
	admitted(t, "ann before a second", g, bearer(ann), Infer)
	at.move(time.Nanosecond)
	_, err := g.Admit(t.Context(), bearer(ann), Infer)
	refused(t, "ann after a second", err, ErrUnauthenticated)
}

func TestBrokenTokenFileLeavesTheLastGoodOne(t *testing.T) {
	ann, annLine := newToken(t, "ann", Infer)
	bob, bobLine := newToken(t, "bob", Infer)
	g, path, at, told := tokenGuard(t, annLine)
	for i, broken := range []struct {
		content string
		mode    os.FileMode
		want    string
	}{
		{"bob infer sha256:12\n", 0o600, "line 1"},
		{"\n# x\nbob root " + strings.Fields(bobLine)[2], 0o600, "line 3"},
		{bobLine, 0o644, "chmod 600"},
		{bobLine, 0o620, "chmod 600"},
		{"", 0o600, "empty"},
		{strings.TrimSpace(bobLine) + "00\n", 0o600, "line 1: the hash"},
		{bobLine + bobLine, 0o600, "hash of line 1"},
		{strings.Repeat("#\n", maxContent/2+1), 0o600, "bytes"},
	} {
		write(t, path, broken.mode, broken.content)
		for range 3 { // one report, however often it is looked at
			at.move(checkInterval)
			admitted(t, broken.want, g, bearer(ann), Infer)
		}
		list := told.all()
		if len(list) != i+1 || !strings.Contains(list[i], broken.want) || !strings.Contains(list[i], path) || !strings.Contains(list[i], "stays in force") {
			t.Fatalf("%s: reports %q", broken.want, list)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	at.move(checkInterval)
	admitted(t, "without a file", g, bearer(ann), Infer)
	write(t, path, 0o640, bobLine)
	at.move(checkInterval)
	admitted(t, "after it was mended", g, bearer(bob), Infer)
	_, err := g.Admit(t.Context(), bearer(ann), Infer)
	refused(t, "ann after it was mended", err, ErrUnauthenticated)
}

func TestBrokenTokenFileAtTheStart(t *testing.T) {
	_, line := newToken(t, "ann", Infer)
	path := filepath.Join(t.TempDir(), "tokens")
	for content, want := range map[string]string{"": "psi token", "ann infer\n": "line 1", line: ""} {
		write(t, path, 0o600, content)
		_, err := New(t.Context(), Config{TokenFile: path})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o644: false, 0o604: false, 0o660: false, 0o601: false} {
		write(t, path, mode, line)
		_, err := New(t.Context(), Config{TokenFile: path})
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	if _, err := New(t.Context(), Config{TokenFile: t.TempDir()}); err == nil {
		t.Error("a directory was taken for a token file")
	}
}

// A broken line may be a secret that someone pasted: no message repeats it.
func TestTokenFileErrorsHoldNoSecret(t *testing.T) {
	secret, _ := newToken(t, "ann", Infer)
	for _, content := range []string{"ann infer " + secret, "ann infer sha256:" + secret, secret + " infer", "ann infer x " + secret} {
		if _, err := parseTokens([]byte(content)); err == nil || strings.Contains(err.Error(), secret[len(tokenPrefix):]) {
			t.Errorf("%v", err)
		}
	}
}

// An early end of the comparison would make the first of many tokens a hundred times faster than none.
func TestFindingTakesTheSameTime(t *testing.T) {
	const many = 20_000
	first, line := newToken(t, "first", Infer)
	var file bytes.Buffer
	file.WriteString(line)
	for i := range many {
		fmt.Fprintf(&file, "n%d infer sha256:%x\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	absent, _ := newToken(t, "absent", Infer)
	g, _, _, _ := tokenGuard(t, file.String())
	fastest := func(secret string, found bool) time.Duration {
		best := time.Hour
		for range 50 {
			start := time.Now()
			if _, ok := g.tokens.find(secret); ok != found {
				t.Fatalf("found %v, want %v", ok, found)
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	if a, b := fastest(first, true), fastest(absent, false); a*3 < b || b*3 < a {
		t.Errorf("the first of %d tokens takes %v, an absent one %v", many, a, b)
	}
}

func FuzzTokens(f *testing.F) {
	_, line, err := NewToken("ann", Infer|Admin)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{line, "# x\n\n" + line + "\r\n", line + "\n" + line, "a infer sha256:", "\x00", "a infer,infer sha256:" + strings.Repeat("0", 64), "a\u00a0infer b c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		tokens, err := parseTokens(content)
		if err != nil {
			if tokens != nil {
				t.Fatal("tokens with an error")
			}
			return
		}
		var again strings.Builder
		for _, token := range tokens {
			if checkTokenName(token.name) != nil || token.allowed == 0 || !grantable.Has(token.allowed) {
				t.Fatalf("token %+v", token)
			}
			fmt.Fprintf(&again, "%s %s sha256:%x\n", token.name, token.allowed, token.hash)
		}
		if read, err := parseTokens([]byte(again.String())); err != nil || !slices.Equal(read, tokens) {
			t.Fatalf("%q reads as %v, %v, want %v", again.String(), read, err, tokens)
		}
	})
}
