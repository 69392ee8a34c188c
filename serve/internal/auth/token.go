package auth

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A token is the prefix and 256 random bits. Slow hashes and salts protect secrets that people choose, which can be guessed.
// 2²⁵⁶ tokens cannot be tried with any hash, so one round of SHA-256 is enough. It makes a wrong token cost the server a
// microsecond; a slow hash would cost a tenth of a second, which a flood of wrong tokens could exploit. Only secrets of this
// form are looked up: the hash of a chosen password in the file admits nobody.
const (
	tokenPrefix = "psi_"
	tokenBytes  = 32
	hashPrefix  = "sha256:"
	maxName     = 255 // bytes, as of a JWT's subject
)

var tokenLength = len(tokenPrefix) + base64.RawURLEncoding.EncodedLen(tokenBytes)

// token is a line of a token file.
type token struct {
	name    string
	allowed Permission
	hash    [sha256.Size]byte
}

// NewToken creates a random token. The secret is for the caller and stored nowhere. The line, without a newline, is for the
// token file.
func NewToken(name string, allowed Permission) (secret, line string, err error) {
	if err := checkTokenName(name); err != nil {
		return "", "", err
	}
	if allowed == 0 || !grantable.Has(allowed) {
		return "", "", errors.New("a token needs a permission: infer, admin or metrics")
	}
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	hash := sha256.Sum256([]byte(secret))
	return secret, fmt.Sprintf("%s %s %s%x", name, allowed, hashPrefix, hash), nil
}

// checkName accepts names that are safe in a log and short enough to keep.
func checkName(name string) error {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return fmt.Errorf("%.40q is no name: use letters, digits and signs, 1 to %d bytes", name, maxName)
	}
	return nil
}

// checkTokenName accepts names that are also safe in a line.
func checkTokenName(name string) error {
	if strings.Contains(name, " ") || strings.HasPrefix(name, "#") {
		return fmt.Errorf("%.40q is no name for a token: it may not hold spaces nor begin with #", name)
	}
	return checkName(name)
}

// parseTokens parses a token file: lines NAME PERMISSIONS HASH, empty lines, and comments that begin with #. A name may
// occur twice, so that a token can be replaced without a gap. A file without tokens is valid: it revokes all.
func parseTokens(content []byte) ([]token, error) {
	var tokens []token
	lines := map[[sha256.Size]byte]int{}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; scanner.Scan(); number++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		parsed, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if before, ok := lines[parsed.hash]; ok {
			return nil, fmt.Errorf("line %d has the hash of line %d: remove one of them", number, before)
		}
		lines[parsed.hash] = number
		tokens = append(tokens, parsed)
	}
	return tokens, scanner.Err()
}

func parseToken(line string) (token, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return token{}, fmt.Errorf("%d fields instead of NAME PERMISSIONS HASH: make lines with psi token", len(fields))
	}
	if err := checkTokenName(fields[0]); err != nil {
		return token{}, err
	}
	allowed, err := ParsePermission(fields[1])
	if err != nil {
		return token{}, err
	}
	t := token{name: fields[0], allowed: allowed}
	// The error does not quote the line, which may be the token itself.
	digits, ok := strings.CutPrefix(fields[2], hashPrefix)
	if n, err := hex.Decode(t.hash[:], []byte(digits[:min(len(digits), 2*sha256.Size)])); !ok || err != nil || n != sha256.Size || len(digits) != 2*sha256.Size {
		return token{}, errors.New("the hash is not sha256: and 64 hexadecimal digits: make lines with psi token")
	}
	return t, nil
}

// tokenFile holds the tokens in force.
type tokenFile struct{ files *reloaded[[]token] }

func openTokens(path string, report func(error), now func() time.Time) (*tokenFile, error) {
	files, err := reload([]source{{path: path, secret: true}}, func(contents [][]byte) ([]token, error) {
		tokens, err := parseTokens(contents[0])
		if err != nil {
			return nil, fmt.Errorf("%s, %w", path, err)
		}
		return tokens, nil
	}, report, now)
	if errors.Is(err, errEmpty) {
		return nil, fmt.Errorf("%w: add a line with psi token", err)
	}
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	return &tokenFile{files}, nil
}

// isToken reports whether a secret has the form of a token.
func isToken(secret string) bool { return strings.HasPrefix(secret, tokenPrefix) }

// find compares with all tokens, in a time that reveals neither which one matched nor how much of it.
func (f *tokenFile) find(secret string) (token, bool) {
	if len(secret) != tokenLength {
		return token{}, false
	}
	hash := sha256.Sum256([]byte(secret))
	tokens := f.files.get()
	at := -1
	for i := range tokens {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], tokens[i].hash[:]), i, at)
	}
	if at < 0 {
		return token{}, false
	}
	return tokens[at], true
}
