// Command firstmessage registers a user with an application, sends the demo's newsletter to that
// user alone, and waits until it is sent.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	tocsin "github.com/tocsin/tocsin/clients/go"
	"github.com/tocsin/tocsin/clients/go/api"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := run(ctx)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := tocsin.New(os.Getenv("TOCSIN_URL"), os.Getenv("TOCSIN_KEY"))
	if err != nil {
		return err
	}

	email, list, yes := "gopher@example.org", "customers", true
	if _, err := client.RegisterWithResponse(ctx, "acme", "shop", "web", nil, api.Registration{
		Username:         email,
		Email:            &email,
		Addresses:        &[]api.AddressInput{{Value: email, AssignToPreferredChannel: &yes}},
		DistributionList: &list,
	}); err != nil {
		return err
	}

	body := api.Trigger{
		Context: &map[string]any{"title": "Hello", "body": "New in the shop."},
		Options: &tocsin.TriggerOptions{LimitTo: &[]string{email}},
	}
	done, err := client.TriggerAndWait(ctx, "acme", "shop", "web", "newsletter", body)
	if err != nil {
		return err
	}
	fmt.Printf("sent %d, failed %d, skipped %d\n", done.Counts.Sent, done.Counts.Failed, done.Counts.Skipped)
	return nil
}
