package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tocsin/tocsin/app"
)

func (p Program) reencrypt() *cobra.Command {
	var discard bool
	var output *format
	c := &cobra.Command{
		Use:   "re-encrypt",
		Short: "Re-encrypt stored secrets under the current secret key",
		Long: "Encrypt the settings of every channel and the secret of every authenticator app under the current secret_key: those that are\n" +
			"encrypted under a key of secret_key_previous, and settings that an earlier version stored as plain text. What is encrypted\n" +
			"under the current key already is left alone. It may run beside the server, be interrupted and be repeated.\n\n" +
			"What cannot be opened is left as it is, with channel or account, reason and key named on standard error. If the key is lost\n" +
			"for ever, --discard-unreadable leaves these channels without settings, which `tocsin apply` then gives them again, and these\n" +
			"accounts without an authenticator app.\n\n" +
			"Exit status: 0 everything is encrypted under the current key, 1 something is not, 2 wrong usage.",
		Example: "  TOCSIN_SECRET_KEY_FILE=new.key TOCSIN_SECRET_KEY_PREVIOUS_FILE=old.key tocsin re-encrypt\n" +
			"  tocsin re-encrypt -o json",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServices(c, func(s Services) error {
				done, err := s.Reencryption.Reencrypt(c.Context(), caller(), discard)
				// Print the result even if the command failed.
				err = errors.Join(err, p.printReencrypted(done, output.value))
				if err == nil && len(done.Unreadable) > 0 {
					return errReported
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&discard, "discard-unreadable", false, "Remove secrets that cannot be decrypted")
	output = outputFlag(c.Flags(), "text", formatJSON)
	return c
}

// reencryptedJSON is the result in the output of -o json.
type reencryptedJSON struct {
	Encrypted  int              `json:"encrypted"`
	Discarded  []unreadableJSON `json:"discarded"`
	Unreadable []unreadableJSON `json:"unreadable"`
}

// unreadableJSON is an object that could not be decrypted.
type unreadableJSON struct {
	ID    int64  `json:"id"`
	Path  string `json:"path"`
	Key   string `json:"key"` // the id of the key; empty if there is none
	Error string `json:"error,omitempty"`
}

func (p Program) printReencrypted(done app.ReencryptionResult, output string) error {
	list := reencryptedJSON{Encrypted: done.Encrypted, Discarded: []unreadableJSON{}, Unreadable: []unreadableJSON{}}
	for _, c := range done.Discarded {
		_, _ = fmt.Fprintf(p.Err, "discarded the settings of %s, which were encrypted under the key %q\n", c.Path, c.Key)
		list.Discarded = append(list.Discarded, unreadableJSON{ID: c.ID, Path: c.Path, Key: c.Key})
	}
	for _, c := range done.Unreadable {
		p.printError(c.Path + ": " + c.Err.Error())
		list.Unreadable = append(list.Unreadable, unreadableJSON{ID: c.ID, Path: c.Path, Key: c.Key, Error: c.Err.Error()})
	}
	if output == formatJSON {
		return printJSON(p.Out, list)
	}
	return p.printf("encrypted   %d\ndiscarded   %d\nunreadable  %d\n", list.Encrypted, len(list.Discarded), len(list.Unreadable))
}
